//! The filters of jq that are written in jq. One is parsed when a program uses it.

/// Name, number of parameters, and definition.
pub(crate) const DEFINITIONS: &[(&str, usize, &str)] = &[
    ("error", 1, "def error(msg): msg | error;"),
    ("halt_error", 0, "def halt_error: halt_error(5);"),
    ("add", 1, "def add(f): reduce f as $x (null; . + $x);"),
    ("abs", 0, "def abs: if . < 0 then -. else . end;"),
    ("toarray", 0, "def toarray: if type == \"array\" then . else [.] end;"),
    ("finites", 0, "def finites: select(isfinite);"),
    ("normals", 0, "def normals: select(isnormal);"),
    ("arrays", 0, "def arrays: select(type == \"array\");"),
    ("objects", 0, "def objects: select(type == \"object\");"),
    ("iterables", 0, "def iterables: select(type == \"array\" or type == \"object\");"),
    ("booleans", 0, "def booleans: select(type == \"boolean\");"),
    ("numbers", 0, "def numbers: select(type == \"number\");"),
    ("strings", 0, "def strings: select(type == \"string\");"),
    ("nulls", 0, "def nulls: select(. == null);"),
    ("values", 0, "def values: select(. != null);"),
    ("scalars", 0, "def scalars: select(type != \"array\" and type != \"object\");"),
    ("recurse", 2, "def recurse(f; cond): def r: ., (f | select(cond) | r); r;"),
    ("paths", 0, "def paths: path(..) | select(length > 0);"),
    ("paths", 1, "def paths(node_filter): path(.. | select(node_filter)) | select(length > 0);"),
    ("leaf_paths", 0, "def leaf_paths: paths(scalars);"),
    ("index", 1, "def index($i): indices($i) | .[0];"),
    ("rindex", 1, "def rindex($i): indices($i) | .[-1:][0];"),
    (
        "indices",
        1,
        "def indices($i): if type == \"array\" and ($i | type) == \"array\" then .[$i]
            elif type == \"array\" then .[[$i]]
            elif type == \"string\" and ($i | type) == \"string\" then _indices($i)
            else .[$i] end;",
    ),
    ("range", 1, "def range($x): range(0; $x);"),
    (
        "range",
        3,
        "def range($from; $to; $by):
            if $by > 0 then $from | while(. < $to; . + $by)
            elif $by < 0 then $from | while(. > $to; . + $by)
            else empty end;",
    ),
    ("while", 2, "def while(cond; update): def step: if cond then ., (update | step) else empty end; step;"),
    ("until", 2, "def until(cond; update): def step: if cond then . else update | step end; step;"),
    ("repeat", 1, "def repeat(f): def step: f, step; step;"),
    ("isempty", 1, "def isempty(g): first((g | false), true);"),
    ("all", 2, "def all(g; cond): isempty(g | cond and empty);"),
    ("any", 2, "def any(g; cond): isempty(g | cond or empty) | not;"),
    ("all", 1, "def all(cond): all(.[]; cond);"),
    ("any", 1, "def any(cond): any(.[]; cond);"),
    ("all", 0, "def all: all(.[]; .);"),
    ("any", 0, "def any: any(.[]; .);"),
    ("last", 1, "def last(g): reduce g as $x (null; $x);"),
    ("nth", 1, "def nth($n): .[$n];"),
    (
        "nth",
        2,
        "def nth($n; g):
            if $n < 0 then error(\"nth doesn't support negative indices\") else first(skip($n; g)) end;",
    ),
    (
        "combinations",
        0,
        "def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $rest | [$x] + $rest end;",
    ),
    ("combinations", 1, "def combinations(n): . as $dot | [range(n) | $dot] | combinations;"),
    ("in", 1, "def in(xs): . as $x | xs | has($x);"),
    ("inside", 1, "def inside(xs): . as $x | xs | contains($x);"),
    ("match", 2, "def match(re; flags): _match(re; flags; false) | .[];"),
    ("test", 2, "def test(re; flags): _match(re; flags; true);"),
    ("match", 1, "def match($re): _regex_args($re) as [$re, $flags] | match($re; $flags);"),
    ("test", 1, "def test($re): _regex_args($re) as [$re, $flags] | test($re; $flags);"),
    ("capture", 1, "def capture($re): _regex_args($re) as [$re, $flags] | capture($re; $flags);"),
    ("capture", 2, "def capture(re; flags): match(re; flags) | _captures;"),
    ("scan", 1, "def scan($re): scan($re; null);"),
    (
        "scan",
        2,
        "def scan($re; $flags): match($re; \"g\" + $flags)
            | if (.captures | length) > 0 then [.captures[].string] else .string end;",
    ),
    ("splits", 1, "def splits($re): split($re; null) | .[];"),
    ("splits", 2, "def splits($re; flags): split($re; flags) | .[];"),
    ("split", 2, "def split($re; flags): flags as $flags | _split($re; \"g\" + $flags);"),
    ("sub", 2, "def sub($re; s): sub($re; s; \"\");"),
    ("gsub", 2, "def gsub($re; s): sub($re; s; \"g\");"),
    ("gsub", 3, "def gsub($re; s; flags): sub($re; s; flags + \"g\");"),
    ("ascii", 0, "def ascii: [.] | implode;"),
    ("todate", 0, "def todate: strftime(\"%Y-%m-%dT%H:%M:%SZ\");"),
    ("todateiso8601", 0, "def todateiso8601: strftime(\"%Y-%m-%dT%H:%M:%SZ\");"),
    ("fromdate", 0, "def fromdate: fromdateiso8601;"),
    ("fromdateiso8601", 0, "def fromdateiso8601: strptime(\"%Y-%m-%dT%H:%M:%SZ\") | mktime;"),
    ("date", 0, "def date: todate;"),
    ("dateadd", 2, "def dateadd(unit; n): . + n;"),
    ("datesub", 2, "def datesub(unit; n): . - n;"),
    ("strflocaltime", 1, "def strflocaltime($format): if type == \"number\" then localtime else . end | _strflocaltime($format);"),
    (
        "truncate_stream",
        1,
        "def truncate_stream(stream): . as $n | null | stream | . as $event
            | if (.[0] | length) > $n then setpath([0]; $event[0][$n:]) else empty end;",
    ),
    ("truncate_stream", 2, "def truncate_stream($n; stream): $n | truncate_stream(stream);"),
    (
        "fromstream",
        1,
        "def fromstream(events): {x: null, e: false} as $init
            | foreach events as $event ($init;
                if .e then $init else . end
                | if ($event | length) == 2
                  then setpath([\"e\"]; ($event[0] | length) == 0) | setpath([\"x\"] + $event[0]; $event[1])
                  else setpath([\"e\"]; ($event[0] | length) == 1) end;
                if .e then .x else empty end);",
    ),
    (
        "tostream",
        0,
        "def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
            | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);",
    ),
    (
        "walk",
        1,
        "def walk(f): def w: if type == \"object\" then map_values(w) elif type == \"array\" then map(w) else . end | f; w;",
    ),
    (
        "pick",
        1,
        "def pick(paths): . as $in | reduce path(paths) as $p (null; setpath($p; $in | getpath($p)));",
    ),
    ("debug", 1, "def debug(msgs): (msgs | debug | empty), .;"),
    (
        "INDEX",
        2,
        "def INDEX(stream; key): reduce stream as $row ({}; .[$row | key | tostring] = $row);",
    ),
    ("INDEX", 1, "def INDEX(key): INDEX(.[]; key);"),
    ("JOIN", 2, "def JOIN($index; key): [.[] | [., $index[key]]];"),
    ("JOIN", 3, "def JOIN($index; stream; key): stream | [., $index[key]];"),
    ("JOIN", 4, "def JOIN($index; stream; key; join): stream | [., $index[key]] | join;"),
    ("IN", 1, "def IN(s): any(s == .; .);"),
    ("IN", 2, "def IN(source; s): any(source == s; .);"),
];

# Formats of jq that jaq leaves to whoever embeds it.
def @csv:
  [ .[]
  | if isstring then "\"" + (split("\"") | join("\"\"")) + "\""
    elif . == null then ""
    else tostring end
  ] | join(",");
def @tsv:
  [ .[]
  | if isstring then
      split("\\") | join("\\\\") | split("\t") | join("\\t") | split("\n") | join("\\n") | split("\r") | join("\\r")
    elif . == null then ""
    else tostring end
  ] | join("\t");

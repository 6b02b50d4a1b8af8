// Answers of the page's API in which every text is a stranger's. It runs in the browser, before the page.

/** Has `fetch` give such answers. `window.hostile.seed` chooses the texts. */
export function answerWithHostileTexts() {
  const texts = [
    '<script>alert(1)</script>',
    '"><img src=http://127.0.0.1:9/x onerror=alert(2)>',
    '<svg onload=alert(3)><style>*{display:none}</style><iframe src=//127.0.0.1:9>',
    'javascript:alert(4)',
    'http://127.0.0.1:9/steal?x=1',
    '#/approvals/x"onmouseover="alert(5)',
    '\u202egnp.exe\u2066 \u200b\u200d\u{e0041}',
    'a\u0000b\u0007\u001b[31m\r\u0085',
    '\ud800 alone \udfff',
    `Z${'\u0335'.repeat(40)}algo`,
    '{{constructor.constructor("alert(6)")()}} ${alert(7)}',
    '</title></textarea></template><base href=http://127.0.0.1:9/><meta http-equiv=refresh content=0>',
    '__proto__',
    'x'.repeat(50_000),
    '&lt;b&gt;&amp;#x202e;',
    '',
  ];
  const state = { seed: 0, size: 1 };
  window.hostile = state;
  let turn = 0;
  const pick = () => texts[(state.seed + turn++ * 7) % texts.length];
  const time = new Date(Date.now() - 60_000).toISOString();
  const deep = (levels) => '['.repeat(levels) + JSON.stringify(pick()) + ']'.repeat(levels);
  const json = () =>
    [
      JSON.stringify({ [pick()]: pick(), list: [pick(), pick()], number: 1e300 }),
      deep(7_000),
      `{"__proto__": {"a": ${JSON.stringify(pick())}}, "n": 123456789012345678901234567890}`,
      `${JSON.stringify(pick()).slice(0, -1)}… (cut)`,
      JSON.stringify(Array.from({ length: 3_000 }, pick)),
      'null',
    ][state.seed % 6];
  const call = (id) => ({
    id,
    kind: 'call',
    time,
    durationMs: 12.5,
    agent: pick(),
    instance: pick(),
    turn: pick(),
    step: pick(),
    callId: pick(),
    tool: pick(),
    status: ['ok', 'error', 'pending'][id % 3],
    code: id % 3 === 1 ? pick() : undefined,
    message: pick(),
    handle: pick(),
    parentCallId: id % 2 ? pick() : undefined,
    usage: { wallMs: 1, memoryPeak: 5, bytesRead: 7 },
    denials: [{ operation: pick(), policyLine: pick() }],
    files: [{ path: pick(), kind: 'changed', digest: pick() }],
    recording: pick(),
  });
  const file = () => ({
    path: pick(),
    kind: 'renamed',
    from: { escaped: pick() },
    type: 'link',
    target: pick(),
    was: { type: 'file', mode: '644', target: pick() },
    digest: pick(),
    diff: `@@ -1 +1 @@\n-${pick()}\n+${pick()}\n`,
  });
  const whats = () => [
    ['workdir', { files: [file(), file()], truncated: true }],
    [
      'http',
      {
        method: pick(),
        url: pick(),
        headers: [
          [pick(), pick()],
          [pick(), { escaped: pick() }],
        ],
        body: { escaped: pick() },
      },
    ],
    ['agents', { operation: pick(), target: pick(), instanceKey: pick(), type: pick(), input: pick() }],
    ['call', { tool: pick(), args: { [pick()]: [pick()] } }],
  ];
  const approval = (at) => {
    const [effect, what] = whats()[at % 4];
    const decision = at % 8 < 4 ? undefined : { by: pick(), at: time, why: pick() };
    return {
      id: `${at}`,
      handle: pick(),
      state: decision ? 'denied' : 'waiting',
      bundle: pick(),
      agent: pick(),
      instance: pick(),
      callId: pick(),
      tool: pick(),
      effect,
      what,
      digest: pick(),
      createdAt: time,
      expiresAt: time,
      decision,
    };
  };
  const schema = () => ({
    type: 'object',
    required: [pick()],
    description: pick(),
    properties: {
      [pick()]: { type: 'string', description: pick(), default: pick() },
      choice: { enum: [pick(), pick()], description: pick() },
      list: { type: 'array', items: { type: 'object', properties: { [pick()]: { type: 'number' } } } },
      [`${pick()} deep`]: { type: 'object', description: pick(), properties: { any: { description: pick() } } },
    },
  });
  const bucket = { time, calls: 3, errors: 1, p50: 1, p95: 2, p99: 3, memoryMax: 4, queuedP95: 5 };
  const answers = {
    info: () => ({
      version: pick(),
      viewer: pick(),
      now: time,
      roots: [
        { id: 0, path: pick(), waiting: 1 },
        { id: 1, path: pick(), waiting: 0 },
      ],
      agents: ['x'],
      canReplay: true,
      running: true,
    }),
    calls: (query) => ({
      calls: query.has('after') ? [] : Array.from({ length: state.size }, (_, at) => call(state.size - at)),
      next: null,
      lost: 2,
    }),
    running: () => ({
      calls: [{ agent: pick(), instance: pick(), turn: pick(), callId: pick(), tool: pick(), since: time }],
      gauges: { running: 1, waiting: 0, slots: 2, memoryBytes: 3 },
    }),
    stats: () => ({
      since: time,
      until: time,
      bucketMs: 1,
      counted: 1,
      of: 2,
      buckets: [bucket, bucket],
      codes: [{ code: pick(), count: 1 }],
      tools: [{ tool: pick(), calls: 1, errors: 1, p50: 1, p95: 2 }],
    }),
    approvals: () => ({ approvals: Array.from({ length: state.size }, (_, at) => approval(at)) }),
    budgets: () => ({
      budgets: [
        {
          agent: pick(),
          tool: pick(),
          instance: pick(),
          eachInstance: true,
          period: pick(),
          kind: pick(),
          limit: 2,
          used: 1,
          isUsedUp: false,
          resetsAt: time,
        },
      ],
    }),
    agents: () => ({
      agents: [
        {
          name: 'x',
          tools: [
            { name: 't', description: pick(), parameters: schema() },
            { name: pick(), description: pick(), parameters: schema() },
          ],
          policy: [{ tool: 't', lines: [pick()] }],
        },
      ],
    }),
  };
  const within = [
    [
      /^calls\/\d+$/,
      () => ({
        call: { ...call(1), arguments: json(), output: json() },
        inner: [call(2), call(3), call(4)],
        parent: call(5),
        line: pick(),
        recording:
          state.seed % 2 ? { path: pick(), full: true, steps: 2, bytes: 3 } : { path: pick(), problem: pick() },
        log: [{ level: pick(), context: pick(), message: pick() }],
        requests: [{ method: pick(), url: pick(), status: 200 }],
        diffs: [file()],
      }),
    ],
    [
      /^calls\/\d+\/steps$/,
      () => ({
        total: 3,
        steps: [0, 1, 2].map((index) => ({ index, function: pick(), arguments: pick(), answer: pick() })),
      }),
    ],
    [
      /^calls\/\d+\/replay$/,
      () => ({
        same: false,
        end: pick(),
        component: { recorded: pick(), current: pick(), changed: true },
        hostCalls: 3,
        outcome: pick(),
        divergence: { index: 1, expected: pick(), actual: pick() },
      }),
    ],
    [/^calls\/\d+\/case$/, () => ({ yaml: pick(), notes: [pick()] })],
    [/^approvals\/\d+$/, (_, path) => approval(Number(path.split('/')[1]))],
    [
      /^agents\/x\/calls$/,
      () => ({
        result: {
          toolCallId: pick(),
          toolName: pick(),
          status: 'error',
          error: { code: pick(), name: pick(), message: pick(), suggestion: pick() },
        },
        id: 1,
      }),
    ],
  ];
  window.fetch = async (address) => {
    const url = new URL(address);
    const path = url.pathname.split('/api/')[1];
    const answer = answers[path] ?? within.find(([pattern]) => pattern.test(path))?.[1];
    if (answer) return new Response(JSON.stringify(answer(url.searchParams, path)));
    return new Response(JSON.stringify({ error: { message: pick(), hint: pick() } }), { status: 404 });
  };
}

/** Returns what of the document the page cannot have made, and odd characters that are not marked. */
export function strangers() {
  const names = new Set(
    'html head meta title link script body header button strong nav a span div select option main h1 h2 h3 small section p form label input textarea table caption thead tbody tr th td time dl dt dd ul ol li code pre mark details summary fieldset legend figure figcaption svg rect line text path article noscript br dialog kbd'.split(
      ' ',
    ),
  );
  const attributes =
    /^(class|id|href|type|role|aria-[a-z]+|data-(line|key|id|theme)|scope|tabindex|hidden|for|name|value|title|datetime|style|rows|maxlength|placeholder|disabled|checked|required|readonly|spellcheck|autocomplete|inputmode|novalidate|lang|charset|content|rel|src|viewBox|width|height|x|y|x1|x2|y1|y2|d|text-anchor|open)$/;
  const odd = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    if (!names.has(element.localName)) found.push(`<${element.localName}>`);
    for (const { name, value } of element.attributes) {
      if (!attributes.test(name)) found.push(`${element.localName} ${name}`);
      if (name === 'href' && element.localName !== 'link' && !value.startsWith('#/')) found.push(`href ${value}`);
      if (odd.test(value)) found.push(`odd ${name} of ${element.localName}`);
    }
  }
  for (const name of ['script', 'link', 'meta', 'title']) {
    const expected = { script: 1, link: 2, meta: 3, title: 1 }[name];
    const count = document.querySelectorAll(name).length;
    if (count !== expected) found.push(`${count} × ${name}`);
  }
  if (document.head.querySelectorAll('style').length > 0) found.push('style');
  if (odd.test(document.documentElement.textContent)) found.push('odd text');
  return found;
}

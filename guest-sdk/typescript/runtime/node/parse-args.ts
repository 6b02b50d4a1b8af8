/** `util.parseArgs`. */

interface Option {
  type: 'string' | 'boolean';
  short?: string;
  multiple?: boolean;
  default?: unknown;
}

interface Config {
  args?: string[];
  options?: Record<string, Option>;
  strict?: boolean;
  allowPositionals?: boolean;
  allowNegative?: boolean;
  tokens?: boolean;
}

type Token = { kind: string; index: number; name?: string; rawName?: string; value?: string; inlineValue?: boolean };

function fail(code: string, message: string): never {
  throw Object.assign(new TypeError(message), { code: `ERR_PARSE_ARGS_${code}` });
}

export function parseArgs(config: Config = {}): object {
  const { args = [], options = {}, strict = true, allowPositionals = !strict, allowNegative = false, tokens: wantsTokens } = config;
  const values: Record<string, unknown> = Object.create(null);
  const positionals: string[] = [];
  const tokens: Token[] = [];
  const waiting = args.map((text, index) => ({ text, index }));

  const store = (name: string, rawName: string, index: number, value: string | undefined, inline: boolean | undefined) => {
    let option = options[name];
    let isNegative = false;
    if (!option && allowNegative && value === undefined && name.startsWith('no-') && options[name.slice(3)]?.type === 'boolean') {
      name = name.slice(3);
      option = options[name];
      isNegative = true;
    }
    if (strict && !option) fail('UNKNOWN_OPTION', `Unknown option '${rawName}'`);
    if (strict && option?.type === 'boolean' && value !== undefined) fail('INVALID_OPTION_VALUE', `Option '${rawName}' does not take an argument`);
    if (strict && option?.type === 'string' && value === undefined) fail('INVALID_OPTION_VALUE', `Option '${rawName} <value>' argument missing`);
    tokens.push({ kind: 'option', name, rawName, index, value, inlineValue: inline });
    const result = value ?? !isNegative;
    if (option?.multiple) values[name] = [...((values[name] as unknown[]) ?? []), result];
    else values[name] = result;
  };
  const takeValue = (name: string) => {
    const next = waiting[0];
    if (options[name]?.type !== 'string' || next === undefined || (strict && /^-./.test(next.text))) return undefined;
    return waiting.shift()!.text;
  };

  for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
    const { text, index } = each;
    if (text === '--') {
      tokens.push({ kind: 'option-terminator', index });
      for (const rest of waiting.splice(0)) {
        positionals.push(rest.text);
        tokens.push({ kind: 'positional', index: rest.index, value: rest.text });
      }
    } else if (text.startsWith('--')) {
      const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
      const value = inline ?? takeValue(name);
      store(name, `--${name}`, index, value, value === undefined ? undefined : inline !== undefined);
    } else if (/^-./.test(text)) {
      for (let at = 1; at < text.length; at += 1) {
        const short = text[at]!;
        const name = Object.keys(options).find((key) => options[key]!.short === short) ?? short;
        const inline = options[name]?.type === 'string' && at + 1 < text.length ? text.slice(at + 1) : undefined;
        const value = inline ?? (at + 1 === text.length ? takeValue(name) : undefined);
        store(name, `-${short}`, index, value, value === undefined ? undefined : inline !== undefined);
        if (inline !== undefined) break;
      }
    } else {
      if (!allowPositionals) fail('UNEXPECTED_POSITIONAL', `Unexpected argument '${text}'. This command does not take positional arguments`);
      positionals.push(text);
      tokens.push({ kind: 'positional', index, value: text });
    }
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  }
  return { values, positionals, ...(wantsTokens && { tokens }) };
}

/** The error of a tool that another tool called. */

/** What the contract says of a failure. */
export interface Failure {
  message: string;
  code?: string;
  suggestion?: string;
  helpUrl?: string;
  /** JSON Schema of the tool's arguments, as text, where they were the reason. */
  parameters?: string;
}

export class ToolError extends Error {
  readonly code?: string;
  readonly suggestion?: string;
  readonly helpUrl?: string;
  /** The name of the tool. */
  readonly tool?: string;
  readonly parameters?: object;

  constructor({ message, code, suggestion, helpUrl, parameters }: Failure, tool?: string) {
    super(message);
    if (code) this.code = code;
    if (suggestion) this.suggestion = suggestion;
    if (helpUrl) this.helpUrl = helpUrl;
    if (tool) this.tool = tool;
    if (parameters) this.parameters = JSON.parse(parameters);
  }

  get schema(): object | undefined {
    return this.parameters;
  }

  toJSON(): object {
    const { name, message, code, suggestion, tool } = this;
    return { name, message, code, suggestion, tool };
  }
}

Object.defineProperty(ToolError.prototype, 'name', { value: 'ToolError', configurable: true, writable: true });

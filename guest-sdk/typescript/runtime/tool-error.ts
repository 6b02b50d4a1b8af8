/** The error of a tool that another tool called. */
export { ToolError } from '../package/index.js';

/** What the contract says of a failure. */
export interface Failure {
  message: string;
  code?: string;
  suggestion?: string;
  helpUrl?: string;
  /** JSON Schema of the tool's arguments, as text, where they were the reason. */
  parameters?: string;
}

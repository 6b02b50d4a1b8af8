/** #/definitions/base of file-system__read */
type FileSystemReadBase = {
  id: string;
};

/**
 * dependentRequired: {"offset":["path"]}
 * # of file-system__read
 */
type FileSystemReadInput = {
  /**
   * Relative to the workdir.
   * pattern: "^[a-z/*]+$"
   */
  path: string;
  /** default: 1; minimum: 1; integer */
  offset?: number;
  /**
   * Mode
   * How it
   * is read.
   */
  mode?: "text" | "base64" | null | 3 | { "deep": [true]; };
  kind?: "file";
  /** exclusiveMinimum: 0 */
  size?: /* integer */ number | null;
  /** oneOf: exactly one of these */
  either?: /* format: "date-time" */ string | {
    at: number;
  };
  /** Both */
  both?: FileSystemReadBase & {
    extra?: boolean;
  };
  /** minItems: 1 */
  pair?: [string, (1 | 2)?];
  old_pair?: [string?, (/* integer */ number)?, ...Array<boolean>];
  labels?: { [key: string]: /* maxLength: 9 */ string; };
  /** additionalProperties: {"type":"string"} */
  mixed?: {
    a?: number;
    [key: string]: unknown;
  };
  open?: {
    a?: number;
    [key: string]: unknown;
  };
  /** patternProperties: {"^x-":{"type":"string"}} */
  by_pattern?: { [key: string]: string; };
  nothing?: never;
  anything?: unknown;
  empty?: { [key: string]: never; };
  /** uniqueItems: true */
  list?: Array<Array</* maximum: 5; integer */ number>>;
  /** not: {"const":"*\/ no"}; if: {"minLength":2}; then: {"maxLength":4} */
  conditional?: string;
  __proto__?: string;
  "a-b \"c\""?: string;
  whole?: FileSystemReadInput;
  /** $ref: "https://example.com/schema" */
  unknown?: unknown;
  missing: unknown;
};

/**
 * A part of the tree.
 * #/$defs/node of file-system__read
 */
type FileSystemReadNode = {
  /** minLength: 1 */
  name: string;
  /** maxItems: 9 */
  children?: Array<FileSystemReadNode>;
  parent?: FileSystemReadNode | null;
};

/**
 * A part of the tree.
 * #/$defs/node of tree__walk
 */
type TreeWalkNode = {
  /** minLength: 1 */
  name: string;
  /** maxItems: 9 */
  children?: Array<TreeWalkNode>;
  parent?: TreeWalkNode | null;
};

declare const tools: {
  /**
   * Reads a file.
   *
   * Never ends a comment: *\/ declare const x: 1;
   * dependentRequired: {"offset":["path"]}
   */
  "file-system__read"(args: {
    /**
     * Relative to the workdir.
     * pattern: "^[a-z/*]+$"
     */
    path: string;
    /** default: 1; minimum: 1; integer */
    offset?: number;
    /**
     * Mode
     * How it
     * is read.
     */
    mode?: "text" | "base64" | null | 3 | { "deep": [true]; };
    kind?: "file";
    /** exclusiveMinimum: 0 */
    size?: /* integer */ number | null;
    /** oneOf: exactly one of these */
    either?: /* format: "date-time" */ string | {
      at: number;
    };
    /** Both */
    both?: FileSystemReadBase & {
      extra?: boolean;
    };
    /** minItems: 1 */
    pair?: [string, (1 | 2)?];
    old_pair?: [string?, (/* integer */ number)?, ...Array<boolean>];
    labels?: { [key: string]: /* maxLength: 9 */ string; };
    /** additionalProperties: {"type":"string"} */
    mixed?: {
      a?: number;
      [key: string]: unknown;
    };
    open?: {
      a?: number;
      [key: string]: unknown;
    };
    /** patternProperties: {"^x-":{"type":"string"}} */
    by_pattern?: { [key: string]: string; };
    nothing?: never;
    anything?: unknown;
    empty?: { [key: string]: never; };
    /** uniqueItems: true */
    list?: Array<Array</* maximum: 5; integer */ number>>;
    /** not: {"const":"*\/ no"}; if: {"minLength":2}; then: {"maxLength":4} */
    conditional?: string;
    __proto__?: string;
    "a-b \"c\""?: string;
    whole?: FileSystemReadInput;
    /** $ref: "https://example.com/schema" */
    unknown?: unknown;
    missing: unknown;
  }): Promise<{
    root: FileSystemReadNode;
  }>;
  /** Walks a tree. */
  "tree__walk"(args: {
    root: TreeWalkNode;
  }): Promise<any>;
  "either__one"(args: {
    a?: string;
    b?: string;
  } & ({
    a: unknown;
  } | {
    b: unknown;
  })): Promise<{ [key: string]: unknown; }>;
  /** Tells the time. */
  "clock__now"(args?: { [key: string]: unknown; }): Promise<any>;
};

/** JSON without numbers that change on the way. */
/** Parses JSON. Integers beyond 2^53, which a number cannot hold, become texts with their digits. */
export declare function fromJson(json: string): unknown;
/** Writes JSON. NaN and infinity, which `JSON.stringify` writes as `null`, are a TypeError that names the place. */
export declare function toJson(value: object): string;

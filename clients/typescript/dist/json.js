/** JSON without numbers that change on the way. */
/** Fewer digits are held exactly by every number. */
const MANY_DIGITS = /[0-9]{16}/;
/** A text or a number of JSON. */
const SCALARS = /"(?:[^"\\]|\\.)*"|-?[0-9][-+.eE0-9]*/g;
/** Parses JSON. Integers beyond 2^53, which a number cannot hold, become texts with their digits. */
export function fromJson(json) {
    if (!MANY_DIGITS.test(json))
        return JSON.parse(json);
    const isRounded = (token) => /^-?[0-9]+$/.test(token) && !Number.isSafeInteger(Number(token));
    return JSON.parse(json.replace(SCALARS, (token) => (isRounded(token) ? `"${token}"` : token)));
}
/** Writes JSON. NaN and infinity, which `JSON.stringify` writes as `null`, are a TypeError that names the place. */
export function toJson(value) {
    const json = JSON.stringify(value);
    const found = json.includes('null') ? findNotFinite(value, '') : undefined;
    if (found)
        throw new TypeError(`${found}, which JSON cannot hold`);
    return json;
}
function findNotFinite(value, at) {
    if (typeof value === 'number')
        return Number.isFinite(value) ? undefined : `${at} is ${value}`;
    if (typeof value !== 'object' || value === null || 'toJSON' in value)
        return undefined;
    for (const [key, item] of Object.entries(value)) {
        const found = findNotFinite(item, `${at}/${key}`);
        if (found)
            return found;
    }
    return undefined;
}

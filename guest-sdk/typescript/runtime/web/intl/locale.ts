/** The language that there is. */
export const LOCALE = 'en-US';

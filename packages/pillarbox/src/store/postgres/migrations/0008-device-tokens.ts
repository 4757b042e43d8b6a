/** Device tokens are sealed, and found by a keyed hash. */
export const deviceTokens = ''

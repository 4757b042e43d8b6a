/** Device tokens are sealed to the text that they are found by, which takes the place they had: no column is added. */
export const deviceTokens = ''

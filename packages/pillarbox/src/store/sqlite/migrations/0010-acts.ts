/** What an operator’s act leaves: a note, a link to what was corrected. */
export const acts = ''

/** How often planning a row has ended the process. */
export const crashes = ''

/** Topics, domain events and occurrences of events, and who published them. */
export const eventFacts = ''

/** What an attempt keeps of its account and of the provider’s answer. */
export const providerFacts = ''

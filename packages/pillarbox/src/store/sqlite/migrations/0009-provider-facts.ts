/** What an attempt keeps of its account and of the provider’s answer. */
export const providerFacts = `
-- What waits past its expiry is looked for by the time it expired.
create index pillarbox_notifications_expiry on pillarbox_notifications (expires_at) where expires_at is not null;
`

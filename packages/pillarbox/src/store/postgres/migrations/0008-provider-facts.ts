/** What an attempt keeps of its account and of the provider’s answer. */
export const providerFacts = `
-- Through which account it went, what the provider said, and whom of a list it would not take.
alter table pillarbox.attempts add column account_id uuid, add column answer text, add column refused json;

-- What waits past its expiry is looked for by the time it expired.
create index notifications_expiry on pillarbox.notifications (expires_at) where expires_at is not null;

-- Reports of these may name nothing but the vendor's message id.
drop index pillarbox.attempts_message;
create index attempts_message on pillarbox.attempts (provider_message_id)
  where provider in ('sns', 'ses', 'meta', 'aws-sms');
`

/** What an attempt keeps of its account and of the provider’s answer. */
export const providerFacts = `
-- Through which account it went, what the provider said, and whom of a list it would not take.
alter table pillarbox_attempts add column account_id text;
alter table pillarbox_attempts add column answer text;
alter table pillarbox_attempts add column refused text;

-- What waits past its expiry is looked for by the time it expired.
create index pillarbox_notifications_expiry on pillarbox_notifications (expires_at) where expires_at is not null;

-- Reports of these may name nothing but the vendor's message id.
drop index pillarbox_attempts_message;
create index pillarbox_attempts_message on pillarbox_attempts (provider_message_id)
  where provider in ('sns', 'ses', 'meta', 'aws-sms');
`

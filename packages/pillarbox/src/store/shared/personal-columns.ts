/**
 * Every column of every table, and what of a person may stand in it. The list is closed: a test fails for a column that is not
 * in it, so that whoever adds one decides.
 *
 *   text    a text in which an address may stand: it is replaced there
 *   id      an id that others chose, of which an address may be a part: it is replaced in the same way everywhere
 *   json    the same of JSON
 *   bytes   the same of bytes in base64
 *   person  says who somebody is, or is theirs alone: it is removed with the person's row
 *   chained part of the audit's chain of hashes: it cannot be changed, and whoever erases is told how many rows there are
 *   sealed  nobody can read it without the master key; it goes with the row it stands in
 *   plain   nothing of a recipient's: ids of ours, times, numbers, words of closed sets, what operators configure
 */
export type PersonalKind = 'text' | 'id' | 'json' | 'bytes' | 'person' | 'chained' | 'sealed' | 'plain'

type Columns = Readonly<Record<string, PersonalKind>>

function all(kind: PersonalKind, names: string): Columns {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]))
}

export const PERSONAL_COLUMNS: Readonly<Record<string, Columns>> = {
  accounts: {
    ...all('plain', 'id tenant_id channel provider name settings secret_names pace retry on_unknown breaker priority'),
    ...all('plain', 'status status_reason removed_at created_at updated_at parked_retry_after_ms'),
    sealed_secrets: 'sealed',
  },
  alert_messages: all('plain', 'sequence alert_id way news number since tries next_at'),
  alerts: {
    ...all('plain', 'id rule subject subject_id tenant_id status since raised_at good_since cleared_at value summary'),
    ...all('plain', 'acknowledged_at acknowledged_by repeats told_at'),
    note: 'text',
  },
  api_keys: all(
    'plain',
    'id tenant_id name role hash site rate_per_second expires_at revoked_at created_at last_used_at',
  ),
  attempts: {
    ...all('plain', 'notification_id number late outcome to_status possible_duplicate duration_ms started_at token'),
    ...all('plain', 'worker_id provider code reason account_id tenant_id audit_id'),
    ...all('text', 'provider_message_id error answer'),
    ...all('json', 'resolved_targets refused'),
  },
  audit: {
    ...all('plain', 'id tenant_id at actor action notification_id attempt duration_ms from_status to_status'),
    ...all('plain', 'operation_id salt digest'),
    ...all('chained', 'subject reason'),
    note: 'text',
    ...all('json', 'before after'),
  },
  audit_links: all('plain', 'id tenant_id number from_id to_id first_at last_at row_count leaves hash linked_at'),
  audit_marks: all('plain', 'name position holder leased_until failing_since last_error tried_at'),
  callbacks: {
    ...all(
      'plain',
      'id source tenant_id account_ids digest status attempt_count next_attempt_at reports matched moved',
    ),
    ...all('plain', 'unreadable received_at'),
    note: 'text',
    headers: 'json',
    body: 'bytes',
  },
  cancellations: { ...all('plain', 'tenant_id entity_type event_type at'), entity_id: 'id' },
  catalogues: all(
    'plain',
    'tenant_id version name default_locale document imported_by imported_at domain_events sources',
  ),
  claim_tokens: all('plain', 'one value'),
  contact_identifiers: { ...all('plain', 'tenant_id kind contact_id'), value: 'person' },
  contacts: {
    ...all('plain', 'id tenant_id locale merged_into created_at updated_at version'),
    ...all('person', 'profile_id user_id name phone email'),
  },
  conversations: {
    ...all('plain', 'id tenant_id contact_id context_type status created_at updated_at'),
    context_id: 'id',
  },
  departed: all('plain', 'worker_id departed_at'),
  dispatch: {
    ...all(
      'plain',
      'notification_id lane_id visible_at attempt spent possible_duplicate in_doubt token worker_id claimed_at',
    ),
    last_error: 'text',
  },
  event_types: all('plain', 'tenant_id name definition'),
  events: {
    ...all(
      'plain',
      'tenant_id type entity_type occurred_at due_at locale channels schema_version status attempt_count',
    ),
    ...all('plain', 'next_attempt_at created_at published_at crashes traceparent topic published_by'),
    ...all('id', 'id entity_id correlation_id derived_from'),
    last_error: 'text',
    ...all('json', 'payload recipients conversation'),
  },
  inbox_messages: {
    ...all('plain', 'id tenant_id arrival revision created_at seen_at read_at removed_at owed'),
    user_id: 'person',
    sealed: 'sealed',
  },
  inboxes: { ...all('plain', 'tenant_id revision'), user_id: 'person' },
  instance: all('plain', 'name value'),
  key_holders: all('plain', 'id host pid part key_ids seals_under announced_at'),
  lanes: all('plain', 'account_id breaker hold_until hold_reason tokens refilled_at'),
  notification_marks: all('plain', 'tenant_id kind value slot'),
  notifications: {
    ...all(
      'plain',
      'id tenant_id channel account_id provider event_type schedule_id entity_type template_id locale site',
    ),
    ...all(
      'plain',
      'template_version triggered_by fallback fallback_of fallback_to due_at expires_at created_at policy',
    ),
    ...all('plain', 'contact_id conversation_id is_scrubbed place duplicate_of corrected_from corrected_to'),
    ...all('plain', 'attempts_before overrides_suppression traceparent wanted_at'),
    ...all('id', 'idempotency_key event_id entity_id correlation_id execution_id parent_execution_id'),
    address: 'text',
    ...all('json', 'recipient content warnings'),
  },
  operation_items: all('plain', 'operation_id place notification_id status attempt settled_at outcome why result_id'),
  operations: {
    ...all(
      'plain',
      'id tenant_id action status total done left_alone failed position previewed_by created_at expires_at',
    ),
    ...all('plain', 'started_by started_at per_second canary grace_until begun_at canary_until paused_from ended_at'),
    ...all('plain', 'leased_until worked_at'),
    ...all('text', 'note problem'),
    options: 'json',
  },
  // Gone with the next batch.
  planning_notes: all('plain', 'worker_id host pid kind noted space boot number noted_at'),
  receipts: {
    ...all('plain', 'id tenant_id notification_id provider kind code at received_at'),
    ...all('text', 'provider_message_id recipient error'),
  },
  recipient_list_members: { ...all('plain', 'id list_id'), ...all('person', 'name email phone') },
  recipient_lists: all('plain', 'id tenant_id name member_count created_at updated_at'),
  refused_callbacks: all('plain', 'source tenant_id why count last_at'),
  rollup_counts: all('plain', 'at_second counts dimension scope value width'),
  rollup_deltas: {
    ...all(
      'plain',
      'id at_second tenant_id channel account_id site event_type from_status to_status due_second latency',
    ),
    ...all('plain', 'is_delivered is_by_account count'),
  },
  rollup_due: all('plain', 'at_second count dimension scope value width'),
  rollup_state: all('plain', 'is_counted rebuild_token rebuild_until'),
  scan_marks: all('plain', 'scan tenant_id position'),
  schedules: {
    ...all('plain', 'id tenant_id due_at status attempt_count next_attempt_at created_at completed_at event_type'),
    ...all('plain', 'entity_type progress approved_by approved_at is_replayed crashes'),
    ...all('id', 'event_id entity_id'),
    last_error: 'text',
  },
  schema_versions: all('plain', 'version name applied_at'),
  // What is named there is renamed with its event.
  sealed_contents: all('plain', 'notification_id tenant_id event_id'),
  sealed_payloads: all('plain', 'tenant_id event_id'),
  sessions: all('plain', 'id kind key_id hash former_hash former_until changed_at created_at expires_at'),
  settled: {
    ...all('plain', 'notification_id tenant_id status reason spent attempt possible_duplicate settled_at delivered_at'),
    ...all('plain', 'read_at heard code fingerprint'),
    last_error: 'text',
  },
  sites: all(
    'plain',
    'tenant_id site incarnation received sequence missing backlog first_contact_at last_contact_at rewound_at clock_ahead_ms',
  ),
  suppressions: {
    ...all('plain', 'id tenant_id channel digest cause notification_id created_by created_at'),
    ...all('person', 'address error'),
  },
  template_uses: all('plain', 'template_id'),
  template_versions: all(
    'plain',
    'template_id version subject body provider_template is_active changed_by changed_at format',
  ),
  templates: {
    ...all(
      'plain',
      'id tenant_id event_type channel locale scope_type scope_id subject body provider_template version',
    ),
    ...all('plain', 'is_active is_edited created_at updated_at updated_by format'),
  },
  tenants: all('plain', 'id name default_locale time_zone settings entities catalogue_version created_at'),
  workers: all('plain', 'id host pid version channels started_at beat_at in_flight'),
}

export type SearchedKind = Exclude<PersonalKind, 'person' | 'chained' | 'sealed' | 'plain'>

/** The columns of a table in which an address may stand, by how it is replaced there. */
export function searchedColumns(table: string): [name: string, kind: SearchedKind][] {
  const isSearched = (entry: [string, PersonalKind]): entry is [string, SearchedKind] =>
    entry[1] !== 'person' && entry[1] !== 'chained' && entry[1] !== 'sealed' && entry[1] !== 'plain'
  return Object.entries(PERSONAL_COLUMNS[table] ?? {}).filter(isSearched)
}

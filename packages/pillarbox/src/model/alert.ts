/**
 * Something that is wrong and that somebody is told of.
 *
 *   (bad) ──▶ pending ──bad for its time──▶ open ──good for a time──▶ cleared
 *             pending ──good──▶ (forgotten)
 *
 * The table's check constraint restates the statuses.
 */
export const ALERT_RULES = [
  'stuck',
  'oldest_pending',
  'parked_rate',
  'breaker_open',
  'account_paused',
  'no_worker',
  'recovery_failed',
  'site_silent',
] as const
export type AlertRule = (typeof ALERT_RULES)[number]

export function isAlertRule(value: string): value is AlertRule {
  return (ALERT_RULES as readonly string[]).includes(value)
}

/** What an alert can be about. */
export const ALERT_SUBJECTS = ['installation', 'tenant', 'account', 'operation', 'site'] as const

export interface AlertSubject {
  subject: (typeof ALERT_SUBJECTS)[number]
  /** Of the tenant, account or operation, the name of the site; empty for the installation. */
  subjectId: string
  /** Whose that is; null for the installation. */
  tenantId: string | null
}

/** Those that people see. */
export const ALERT_STATUSES = ['open', 'cleared'] as const

export interface Alert extends AlertSubject {
  id: string
  rule: AlertRule
  status: 'pending' | (typeof ALERT_STATUSES)[number]
  /** Since when it is bad. */
  since: number
  raisedAt: number | null
  /** Of one that is open: since when it is good again; null: it is bad. */
  goodSince: number | null
  clearedAt: number | null
  /** The number that raised it, in the rule's own measure. */
  value: number
  /** What is wrong, in a sentence; empty while it is pending. */
  summary: string
  acknowledgedAt: number | null
  acknowledgedBy: string | null
  note: string | null
  /** How often it was told again, and when it was last told. */
  repeats: number
  toldAt: number | null
}

/** The tenant that alerts are sent from. Nobody else may have its name. */
export const OPS_TENANT = 'ops'

export const ALERT_NEWS = ['raised', 'repeated', 'cleared'] as const
export type AlertNews = (typeof ALERT_NEWS)[number]

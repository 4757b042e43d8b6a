import type { Alert, AlertNews, AlertRule, AlertSubject } from '../model/alert.ts'
import type { BulkAction } from '../model/operation.ts'
import type { Page, PageOf } from '../model/page.ts'

/** Alerts, and what is still to be told of them. */
export interface AlertStore {
  /** Those that are pending or open. */
  standing(): Promise<Alert[]>
  /**
   * Takes steps, in one transaction. A step whose alert does not stand where it begins any more changes nothing. What is
   * raised, repeated or cleared is to be told by `ways` from now on; not by `event` where it is about `notByEvent`'s own.
   * Answers the alerts that are to be told.
   */
  apply(steps: readonly AlertStep[], telling: { ways: readonly AlertWay[]; notByEvent: string }): Promise<ToldAlert[]>
  /** Newest first; pending ones are left out. */
  list(filter: AlertFilter, page: Page): Promise<PageOf<Alert>>
  /** Null: there is none that people see. The first acknowledgement stays; audited. */
  acknowledge(request: { id: string; actor: string; note: string | null }): Promise<Alert | null>
  /** What is to be told in one way, in order, as far as `limit`; none before the first one's time has come. */
  messages(way: AlertWay, limit: number): Promise<AlertMessage[]>
  told(sequence: number): Promise<void>
  /** It is tried again after `waitMs`, and nothing behind it before. */
  notTold(sequence: number, waitMs: number): Promise<void>
  /** Forgets what was cleared longer ago than `keepMs`, and what was never told of it; at most `limit`. */
  prune(keepMs: number, limit: number): Promise<number>
  /** Operations that failed within the last `withinMs`, newest first. */
  failedOperations(withinMs: number, limit: number): Promise<FailedOperation[]>
}

/** How somebody is told: by an event of the ops tenant, or by a request to an endpoint. */
export const ALERT_WAYS = ['event', 'webhook'] as const
export type AlertWay = (typeof ALERT_WAYS)[number]

/** What is bad now. */
export interface AlertReading extends AlertSubject {
  rule: AlertRule
  value: number
}

/** Of what is raised, `isNew` is what nobody had noticed before, and what needs no time. */
export type AlertStep =
  | { step: 'notice'; id: string; reading: AlertReading; now: number }
  | { step: 'raise'; id: string; isNew: boolean; reading: AlertReading; now: number; summary: string }
  | { step: 'forget' | 'relapse'; id: string }
  | { step: 'recover' | 'clear' | 'repeat'; id: string; now: number }

export interface ToldAlert {
  alert: Alert
  news: AlertNews
}

export interface AlertMessage extends ToldAlert {
  sequence: number
  /** Of a repeat: which one. */
  number: number
  /** When it was first to be told, and how often that failed. */
  since: number
  tries: number
}

export interface AlertFilter {
  status?: 'open' | 'cleared'
  rule?: AlertRule
  tenantId?: string
}

export interface FailedOperation {
  id: string
  tenantId: string
  action: BulkAction
}

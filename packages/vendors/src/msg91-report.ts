import { jsonCallback, type VendorCallback } from './callback.ts'

/** What MSG91 reports of one recipient. */
export interface Msg91Report {
  /** What the send call was answered with. */
  requestId: string
  /** Country code and number, no plus. */
  number: string
  /** 1 delivered, 2 failed, 9 NDNC, 16 and 25 rejected, 17 blocked. */
  status: number | string
  /** When it happened, in ms. */
  at: number
  /** What was sent as `CRQID`. */
  crqid?: string
  reason?: string
}

/** The forms a delivery report comes in, as chosen in the panel. */
export type Msg91Shape = 'v2' | 'v3' | 'v4' | 'new'

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  1: 'DELIVERED',
  2: 'FAILED',
  9: 'NDNC',
  16: 'REJECTED',
  17: 'BLOCKED NUMBER',
  25: 'REJECTED',
}

/**
 * MSG91's `POST` with delivery reports. v2 is a form with all of them; the others are JSON, v3 and `new` with one recipient
 * each, of which the first report is taken. None is signed: the webhook's address carries the token.
 */
export function msg91Report(
  shape: Msg91Shape,
  ...reports: readonly [Msg91Report, ...Msg91Report[]]
): VendorCallback & { body: string } {
  const [first] = reports
  switch (shape) {
    case 'v2':
      return {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ data: JSON.stringify(reports.map(v2)) }).toString(),
      }
    case 'v3':
      return jsonCallback({ ...v3(first), senderId: 'PILBOX', requestId: first.requestId, userId: '12345' })
    case 'v4':
      return jsonCallback(reports.map(v4))
    case 'new':
      return jsonCallback({
        requestId: first.requestId,
        requestedAt: indian(first.at),
        status: describe(first),
        deliveryTime: indian(first.at),
        telNum: first.number,
        credit: '1',
        senderId: 'PILBOX',
        CRQID: first.crqid ?? '',
        UUID: '',
        clientId: '',
        failureReason: first.reason ?? '',
      })
  }
}

function v2(report: Msg91Report): unknown {
  return { senderId: 'PILBOX', requestId: report.requestId, report: [v3(report)], userId: '12345', campaignName: 'API' }
}

function v3(report: Msg91Report) {
  return {
    date: indian(report.at),
    number: report.number,
    credit: '1',
    CRQID: report.crqid ?? '0',
    status: String(report.status),
    desc: describe(report),
    failedReason: report.reason ?? '',
  }
}

/** It has no request id: only `meta`, our own reference, says which message is meant. */
function v4(report: Msg91Report): unknown {
  const description = describe(report)
  const data = [{ meta: report.crqid ?? '0', INMSID: '0', description, ts: Math.floor(report.at / 1_000) }]
  return { event: description.toLowerCase(), data }
}

function describe({ status }: Msg91Report): string {
  return DESCRIPTIONS[status] ?? String(status)
}

const INDIA_MS = 5.5 * 3_600_000

/** The time in India, which MSG91 writes without saying so. */
function indian(at: number): string {
  return new Date(at + INDIA_MS).toISOString().slice(0, 19).replace('T', ' ')
}

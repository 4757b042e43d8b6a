import { createHmac } from 'node:crypto'
import { jsonCallback, type VendorCallback } from './callback.ts'

/** One status of a message that Meta reports. */
export interface MetaStatus {
  /** The `wamid.…` that the send call was answered with. */
  id: string
  status: 'sent' | 'delivered' | 'read' | 'played' | 'failed'
  /** When it happened, in ms. */
  at: number
  /** Digits. Absent where the recipient hides the number. */
  recipient?: string
  /** What was sent as `biz_opaque_callback_data`. */
  callbackData?: string
  /** Meta's error code, for `failed`. */
  errorCode?: number
  errorTitle?: string
}

export interface MetaCallbackOptions {
  phoneNumberId?: string
  wabaId?: string
}

/**
 * Meta's `POST` with any number of statuses, signed with the app's secret:
 * `await fetch(webhookUrl, metaCallback('app secret', [{ id, status: 'delivered', at: Date.now() }]))`.
 */
export function metaCallback(
  appSecret: string,
  statuses: readonly MetaStatus[],
  { phoneNumberId = '1234567890', wabaId = '9876543210' }: MetaCallbackOptions = {},
): VendorCallback & { body: string } {
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '15550100', phone_number_id: phoneNumberId },
    statuses: statuses.map(statusJson),
  }
  const json = { object: 'whatsapp_business_account', entry: [{ id: wabaId, changes: [{ value, field: 'messages' }] }] }
  const callback = jsonCallback(json)
  const signature = createHmac('sha256', appSecret).update(callback.body).digest('hex')
  return { ...callback, headers: { ...callback.headers, 'x-hub-signature-256': `sha256=${signature}` } }
}

/** The query of the `GET` with which Meta asks whether a webhook is ours: it wants the bare challenge back. */
export function metaChallenge(verifyToken: string, challenge = '1158201444'): string {
  return new URLSearchParams({
    'hub.mode': 'subscribe',
    'hub.verify_token': verifyToken,
    'hub.challenge': challenge,
  }).toString()
}

function statusJson({ id, status, at, recipient, callbackData, errorCode, errorTitle }: MetaStatus): unknown {
  return {
    id,
    status,
    timestamp: String(Math.floor(at / 1_000)),
    ...(recipient === undefined ? {} : { recipient_id: recipient }),
    ...(callbackData === undefined ? {} : { biz_opaque_callback_data: callbackData }),
    ...(status === 'failed' ? {} : { pricing: { billable: true, pricing_model: 'PMP', category: 'utility' } }),
    ...(errorCode === undefined ? {} : { errors: [errorJson(errorCode, errorTitle ?? `error ${errorCode}`)] }),
  }
}

function errorJson(code: number, title: string): unknown {
  return {
    code,
    title,
    message: title,
    error_data: { details: title },
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  }
}

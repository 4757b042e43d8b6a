import { type KeyObject, X509Certificate } from 'node:crypto'
import type { Outbound } from '../channels/outbound.ts'
import type { Clock } from '../model/ports.ts'

/** The certificates that SNS signs with, fetched once each from where its messages say, if that is SNS. */
export interface SnsCertificates {
  find(url: string): Promise<KeyObject | CertificateTrouble>
}

/** `unavailable`: nobody's fault, and better in a while. */
export type CertificateTrouble = 'certificate_host' | 'certificate_unusable' | 'certificate_expired' | 'unavailable'

export interface SnsDeps {
  outbound: Outbound
  clock: Clock
  /** Hosts beside the vendor's that certificates may come from, over http as well: `host` or `host:port`, in lower case. */
  certHosts: readonly string[]
}

const MOST_BYTES = 100_000
const MOST_CERTIFICATES = 64
const MOST_FETCHES = 8
const TOTAL_MS = 5_000

/**
 * A certificate's address never gets another content, so it is kept for as long as it is valid. Only few are fetched at a
 * time: whoever makes up addresses must not make us a nuisance to the vendor.
 */
export function createSnsCertificates({ outbound, clock, certHosts }: SnsDeps): SnsCertificates {
  const known = new Map<string, X509Certificate>()
  const underWay = new Map<string, Promise<X509Certificate | CertificateTrouble>>()

  async function find(url: string): Promise<KeyObject | CertificateTrouble> {
    if (!isCertificateUrl(url, certHosts)) return 'certificate_host'
    const certificate = known.get(url) ?? (await shared(url))
    if (typeof certificate === 'string') return certificate
    const now = clock.now()
    if (now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime()) {
      known.delete(url)
      return 'certificate_expired'
    }
    return certificate.publicKey
  }

  /** Many messages of one certificate come at once. */
  function shared(url: string): Promise<X509Certificate | CertificateTrouble> {
    const same = underWay.get(url)
    if (same) return same
    if (underWay.size >= MOST_FETCHES) return Promise.resolve('unavailable')
    const fetching = fetch(url).finally(() => underWay.delete(url))
    underWay.set(url, fetching)
    return fetching
  }

  async function fetch(url: string): Promise<X509Certificate | CertificateTrouble> {
    const limits = { totalMs: TOTAL_MS, answerBytes: MOST_BYTES }
    const answer = await outbound.request({ method: 'GET', url, limits })
    if (answer.kind === 'failure') return answer.code === 'answer_too_large' ? 'certificate_unusable' : 'unavailable'
    if (answer.status === 429 || answer.status >= 500) return 'unavailable'
    const certificate = answer.status === 200 ? certificateIn(answer.body) : null
    if (!certificate) return 'certificate_unusable'
    const [oldest] = known.keys()
    if (known.size >= MOST_CERTIFICATES && oldest !== undefined) known.delete(oldest)
    known.set(url, certificate)
    return certificate
  }

  return { find }
}

function certificateIn(pem: Buffer): X509Certificate | null {
  try {
    const certificate = new X509Certificate(pem)
    return certificate.publicKey.asymmetricKeyType === 'rsa' ? certificate : null
  } catch {
    return null
  }
}

/**
 * SNS in one of the vendor's regions. The region's form matters: names such as `sns.s3-us-west-2.amazonaws.com` are
 * anybody's storage.
 */
const VENDOR_HOST = /^sns\.[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?$/
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[\w-]{1,64}\.pem$/

/** Whether an address is SNS's, or on one of the hosts that are trusted beside it. */
export function isSnsUrl(text: string, certHosts: readonly string[]): boolean {
  const url = urlIn(text)
  return url !== null && (isExtra(url, certHosts) || isVendors(url))
}

/** Other addresses of the vendor's host answer with what a caller put there: it must be a certificate's. */
export function isCertificateUrl(text: string, certHosts: readonly string[]): boolean {
  const url = urlIn(text)
  if (!url) return false
  return isExtra(url, certHosts) || (isVendors(url) && CERTIFICATE_PATH.test(url.pathname) && url.search === '')
}

function urlIn(text: string): URL | null {
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === '' ? url : null
}

function isExtra({ protocol, host, hostname }: URL, certHosts: readonly string[]): boolean {
  const isHttp = protocol === 'https:' || protocol === 'http:'
  return isHttp && (certHosts.includes(host) || certHosts.includes(hostname))
}

function isVendors({ protocol, port, hostname }: URL): boolean {
  return protocol === 'https:' && port === '' && VENDOR_HOST.test(hostname)
}

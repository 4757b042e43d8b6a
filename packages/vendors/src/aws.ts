import { createHash, createHmac } from 'node:crypto'
import type { ServerOptions, VendorRequest } from './server.ts'

/** What the pretend AWS services share: who may call, and how a call must be signed. */
export interface AwsOptions extends ServerOptions {
  /** The only access key it lets in. Default: any. */
  accessKeyId?: string
  /** With it signatures are checked for real, not only for their form. */
  secretAccessKey?: string
  /** The only region it answers for. Default: any. */
  region?: string
}

/** A refusal before the service looks at the request; each service words it in its own protocol. */
export interface SignatureProblem {
  code: string
  message: string
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\/(\d{8})\/([^/,\s]+)\/([^/,\s]+)\/aws4_request, ?SignedHeaders=([a-z0-9;_-]+), ?Signature=([0-9a-f]{64})$/

/** What is wrong with a request's signature (AWS Signature Version 4); null: nothing. */
export function signatureProblem(
  request: VendorRequest,
  service: string,
  { accessKeyId, secretAccessKey, region }: AwsOptions,
): SignatureProblem | null {
  const given = request.headers['authorization']
  if (given === undefined) return { code: 'MissingAuthenticationToken', message: 'Missing Authentication Token' }
  const [, keyId = '', day = '', scopeRegion = '', scopeService, signed = '', signature] =
    AUTHORIZATION.exec(given) ?? []
  const date = request.headers['x-amz-date'] ?? ''
  if (signature === undefined || !signed.split(';').includes('host') || !/^\d{8}T\d{6}Z$/.test(date))
    return { code: 'IncompleteSignature', message: 'The Authorization header is not a complete signature.' }
  if (accessKeyId !== undefined && keyId !== accessKeyId)
    return {
      code: 'UnrecognizedClientException',
      message: 'The security token included in the request is invalid.',
    }
  if (scopeService !== service)
    return {
      code: 'SignatureDoesNotMatch',
      message: `Credential should be scoped to correct service: '${service}'.`,
    }
  if (region !== undefined && scopeRegion !== region)
    return { code: 'SignatureDoesNotMatch', message: `Credential should be scoped to a valid region.` }
  if (secretAccessKey === undefined) return null
  const scope = `${day}/${scopeRegion}/${service}/aws4_request`
  const text = `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonicalRequest(request, signed))}`
  const key = [day, scopeRegion, service, 'aws4_request'].reduce<string | Buffer>(
    (before, part) => createHmac('sha256', before).update(part).digest(),
    `AWS4${secretAccessKey}`,
  )
  if (createHmac('sha256', key).update(text).digest('hex') === signature) return null
  return {
    code: 'SignatureDoesNotMatch',
    message: 'The request signature we calculated does not match the signature you provided.',
  }
}

function canonicalRequest({ method, path, query, headers, body }: VendorRequest, signed: string): string {
  const search = [...query]
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .toSorted()
    .join('&')
  const lines = signed.split(';').map((name) => `${name}:${(headers[name] ?? '').trim().replace(/\s+/g, ' ')}\n`)
  // Paths are escaped once more than they are on the wire.
  return [method, escaped(path).replaceAll('%2F', '/'), search, lines.join(''), signed, sha256(body)].join('\n')
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The status that AWS gives a code, where it is not the usual 400. */
export function awsStatus(code: string): number {
  const name = code.replace(/Exception$/, '')
  if (/^(?:TooManyRequests|Throttled)$/.test(name)) return 429
  if (/^(?:InternalFailure|InternalServiceError|InternalServer|InternalError|ConcurrentModification)$/.test(name))
    return 500
  if (name === 'ServiceUnavailable') return 503
  if (name === 'NotFound') return 404
  if (
    /^(?:AccessDenied|AuthorizationError|ExpiredToken|InvalidClientTokenId|InvalidSecurity|InvalidSignature)$/.test(
      name,
    )
  )
    return 403
  return /^(?:MissingAuthenticationToken|OptInRequired|RequestExpired|SignatureDoesNotMatch|UnrecognizedClient)$/.test(
    name,
  )
    ? 403
    : 400
}

/** A message's id in the form of a UUID, by its number. */
export function awsMessageId(number: number): string {
  return `0aa50000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
}

/** The providers that are measured, one for each kind of client. */
export const PROVIDERS = ['smtp', 'ses', 'meta', 'fcm'] as const
export type ProviderName = (typeof PROVIDERS)[number]

/** Where a vendor listens, and what an account or a client needs in order to be let in. */
export interface VendorAddress {
  host: string
  port: number
  url: string
  /** fcm */
  serviceAccount?: string
}

/** Any that the servers let in: they check the form of what they are sent, and not who sends it. */
export const ACCESS = {
  accessToken: 'token',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'secret',
  region: 'eu-central-1',
}
export const PHONE_NUMBER_ID = '106540352242922'
export const PROJECT = 'example'
export const FROM = 'orders@example.test'

interface Vendor {
  address: VendorAddress
  /** Messages it took. */
  taken(): number
  close(): Promise<void>
}

export async function startVendor(name: ProviderName): Promise<Vendor> {
  // Loaded here, so that a measured worker does not hold its vendors too.
  const { startFcmServer, startMetaServer, startSesServer, startSmtpServer } = await import('@pillarbox/vendors')
  switch (name) {
    case 'smtp': {
      const { port, mails, close } = await startSmtpServer()
      return { address: addressOf(`smtp://127.0.0.1:${port}`), taken: () => mails.length, close }
    }
    case 'ses': {
      const { url, mails, close } = await startSesServer()
      return { address: addressOf(url), taken: () => mails.length, close }
    }
    case 'meta': {
      const { url, messages, close } = await startMetaServer()
      return { address: addressOf(url), taken: () => messages.length, close }
    }
    case 'fcm': {
      const { url, messages, serviceAccount, close } = await startFcmServer()
      return { address: { ...addressOf(url), serviceAccount }, taken: () => messages.length, close }
    }
  }
}

function addressOf(url: string): VendorAddress {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port), url }
}

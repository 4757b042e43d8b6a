import { parseArgs } from 'node:util'
import { startVendors, VENDOR_NAMES, type VendorName } from './all.ts'

const DEFAULT_PORT = 4500

const HELP = `Starts the loopback vendors, for trying things out by hand. Nothing leaves this machine.

Usage: npm run vendors -- [options]

  --port <number>   The desk's port; the vendors have the ones that follow (default ${DEFAULT_PORT}; 0: any that are free).
  --only <names>    Only these, separated by commas: ${VENDOR_NAMES.join(', ')}.
  --help            This text.
`

/** Null where the arguments are wrong, which has then been said. */
function read(): { port: number; names: VendorName[] } | 'help' | null {
  const complain = (text: string): null => {
    process.stderr.write(`vendors: ${text}; --help shows what there is\n`)
    return null
  }
  try {
    const options = { port: { type: 'string' }, only: { type: 'string' }, help: { type: 'boolean' } } as const
    const { port = String(DEFAULT_PORT), only, help = false } = parseArgs({ options }).values
    if (help) return 'help'
    const highest = 65_535 - VENDOR_NAMES.length
    if (!/^\d{1,5}$/.test(port) || Number(port) > highest) return complain(`--port is a number from 0 to ${highest}`)
    const names = only === undefined ? VENDOR_NAMES : only.split(',').map((name) => name.trim())
    const unknown = names.find((name) => !(VENDOR_NAMES as string[]).includes(name))
    if (unknown !== undefined) return complain(`there is no vendor "${unknown}"`)
    return { port: Number(port), names: names as VendorName[] }
  } catch (error) {
    return complain(error instanceof Error ? error.message : String(error))
  }
}

async function run(): Promise<number | null> {
  const wanted = read()
  if (wanted === null) return 1
  if (wanted === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  const { url, vendors, close } = await startVendors(wanted.names, { port: wanted.port })
  const rows = vendors.map(
    ({ name, address, account }) => `  ${name.padEnd(10)}${account.channel.padEnd(10)}${address}`,
  )
  process.stdout.write(`
  The vendors are running. Ctrl-C stops them.

${rows.join('\n')}

  To send through one, start Pillarbox with PILLARBOX_ALLOW_PRIVATE_ENDPOINTS=1 and make an account of what the desk
  hands out (with an admin's key of the tenant; an ops key wants ?tenantId= behind the path):

  curl -s ${url}/accounts/${vendors[0]?.name ?? 'meta'} | curl -X POST localhost:4400/api/channel-accounts \\
    -H "authorization: Bearer $ADMIN_KEY" -H 'content-type: application/json' --data-binary @-

  What a vendor took:           curl -s ${url}/taken/${vendors[0]?.name ?? 'meta'}
  Its next answer is another:   curl -s ${url}/answers/${vendors[0]?.name ?? 'meta'} -d '"reset_after_accept"'

`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close())
  return null
}

try {
  process.exitCode = (await run()) ?? 0
} catch (error) {
  const { code, message, port } = error as Error & { code?: string; port?: number }
  const why = code === 'EADDRINUSE' ? `port ${port} is taken: choose others with --port` : message
  process.stderr.write(`vendors: ${why}\n`)
  process.exitCode = 1
}

#!/usr/bin/env -S node --max-semi-space-size=8
import { systemClock } from '../runtime/system.ts'
import { VERSION } from '../version.ts'
import { loadEngine } from './engine.ts'
import { run } from './run.ts'

// Whoever read our output may leave early (`pillarbox doctor | head`); that must not bring the server down.
let hasReaderLeft = false
process.stdout.on('error', () => {
  hasReaderLeft = true
})
process.stderr.on('error', () => {})

process.exit(
  await run(process.argv.slice(2), {
    version: VERSION,
    env: process.env,
    cwd: process.cwd(),
    nodeVersion: process.version,
    stdout: {
      write: (text) => void process.stdout.write(text),
      isTerminal: process.stdout.isTTY === true,
      hasColours: process.stdout.isTTY === true && process.stdout.hasColors(),
      get columns() {
        return process.stdout.columns
      },
      get isClosed() {
        return hasReaderLeft
      },
    },
    stderr: { write: (text) => void process.stderr.write(text) },
    stdin: { isTerminal: process.stdin.isTTY === true, ask, read },
    clock: systemClock,
    events: process,
    exitNow: (code) => process.exit(code),
    loadEngine,
  }),
)

/** What somebody answers; nothing where the input ends. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await new Promise((resolve) => {
      lines.once('close', () => resolve(''))
      lines.question(question, resolve)
    })
  } finally {
    lines.close()
  }
}

/** Everything that is piped in. */
async function read(mostBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`the input has more than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

import { createServer } from 'node:net'
import { systemClock } from '../../runtime/system.ts'
import { createOutbound } from '../../security/outbound.ts'
import { type CheckResult, type DoctorDeps, fail, ok } from './finding.ts'

export async function checkPort({ config: { host, port } }: DoctorDeps): Promise<CheckResult> {
  if (port === 0) return ok('the system will choose one')
  const refusal = await tryListening(host, port)
  if (refusal === null) return ok(`${host}:${port} is free`)
  if (refusal === 'EADDRINUSE' && (await isPillarbox(host, port)))
    return ok(`${host}:${port} is used by a running Pillarbox`)
  return fail(`${host}:${port} cannot be used: ${refusal}`, 'choose another with --port')
}

function tryListening(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

async function isPillarbox(host: string, port: number): Promise<boolean> {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  // Our own address is seldom a public one.
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true, limits: { totalMs: 1_000 } })
  const answer = await outbound.request({ method: 'GET', url: `http://${name}:${port}/health/live` })
  outbound.close()
  return answer.kind === 'answer' && answer.status === 200
}

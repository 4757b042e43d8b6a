import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ensureBuilt } from '../../packages/console/ensure-built.ts'

const DIST = path.resolve(import.meta.dirname, '../../packages/console/dist')
const MOST_BYTES = 300_000

it('sends no more than 300 KB, compressed, before the overview can be read', async () => {
  await ensureBuilt(() => {})
  const page = readFileSync(path.join(DIST, 'index.html'), 'utf8')
  const named = [...page.matchAll(/\/assets\/([\w.-]+)/g)].map(([, name = '']) => name)
  const overview = readdirSync(path.join(DIST, 'assets')).filter((name) => name.startsWith('overview-'))
  const sizes = [...named, ...overview].map((name) => gzipSync(readFileSync(path.join(DIST, 'assets', name))).length)

  const sum = sizes.reduce((all, size) => all + size, 0)

  assert.ok(named.length >= 3 && overview.length > 0, page)
  assert.ok(sum <= MOST_BYTES, `${sum} bytes`)
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { CLI } from '../support/product-process.ts'
import { until } from '../support/until.ts'
import type { World } from '../support/world.ts'

/** A command of a page, and what it shows below it: JSON, or lines of text. */
export interface Step {
  command: string
  answer: unknown
  /** What people do by hand stands before it: the test does it in another way. */
  isAfterHand: boolean
}

const ACTS = /-X (POST|PUT|PATCH|DELETE)|^pillarbox (backup|migrate(?! --check)|purge(?! --dry-run)|keys|rollups)/m

/** Runs the commands of a page, in their order, and compares the answers with those that it shows. */
export async function follow(
  { url, dataDir, settings }: World,
  steps: readonly Step[],
  env: Record<string, string>,
  byHand: () => Promise<void> = async () => {},
): Promise<void> {
  const bin = await binFolder(dataDir)
  const { DATABASE_URL = '', PILLARBOX_DATA_DIR = '' } = settings
  const product = { DATABASE_URL, PILLARBOX_DATA_DIR }
  /** What one step sets, the next ones have, as in a terminal. */
  const run = async (command: string): Promise<string> => {
    const script = `set -euo pipefail\n[ -f env ] && . ./env\nset -a\n${command}\nexport -p > env\n`
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', script.replaceAll('localhost:4400', new URL(url).host)],
      { cwd: dataDir, env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...product, ...env } },
    )
    return stdout
  }
  for (const { command, answer, isAfterHand } of steps) {
    if (isAfterHand) await byHand()
    let given = ''
    const isAnswered = async (): Promise<boolean> => {
      given = await run(command)
      return typeof answer === 'string' ? saysLines(given, answer) : isLike(JSON.parse(given), answer)
    }
    // What is sent in the background may take a moment; what was asked for may not.
    if (ACTS.test(command)) assert.ok(await isAnswered(), `${command}\nanswered ${given}`)
    else
      await until(`"${command}" answers what the page shows`, isAnswered).catch((error: unknown) => {
        throw new Error(`${command}\nanswered ${given}`, { cause: error })
      })
  }
}

/** A folder with the `pillarbox` command in it. */
async function binFolder(dataDir: string): Promise<string> {
  const bin = path.join(dataDir, 'bin')
  await mkdir(bin, { recursive: true })
  const file = path.join(bin, 'pillarbox')
  await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' --conditions=source '${CLI}' "$@"\n`)
  await chmod(file, 0o755)
  return bin
}

/** Each `sh` block with the `json` or `text` block that is shown below it; `sh start` and `sh by-hand` are not run. */
export function stepsOf(page: string): Step[] {
  const run = page.match(/^```sh$/gm)?.length
  const steps: Step[] = []
  let isAfterHand = false
  for (const [, kind, command = '', form, shown = ''] of page.matchAll(
    /```sh(| start| by-hand)\n([\s\S]*?)```\n(?:[^`]*```(json|text)\n([\s\S]*?)```)?/g,
  )) {
    if (kind !== '') {
      isAfterHand = kind === ' by-hand'
      continue
    }
    assert.ok(form, `no answer is shown below\n${command}`)
    steps.push({ command, answer: form === 'json' ? (JSON.parse(shown) as unknown) : shown, isAfterHand })
    isAfterHand = false
  }
  assert.equal(steps.length, run, 'every command is followed by its answer')
  return steps
}

/** Every line that is shown is there, in that order; `…` stands for anything. */
function saysLines(given: string, shown: string): boolean {
  const lines = given.split('\n')
  let from = 0
  for (const line of shown.trimEnd().split('\n')) {
    const at = lines.findIndex((each, i) => i >= from && isLineLike(each.trim(), line.trim()))
    if (at < 0) return false
    from = at + 1
  }
  return true
}

function isLineLike(given: string, shown: string): boolean {
  const [first = '', ...others] = shown.split('…')
  const last = others.pop()
  if (last === undefined) return given === first
  let at = first.length
  for (const part of others) {
    const found = given.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return given.startsWith(first) && given.endsWith(last) && given.length - last.length >= at
}

/** Everything that is shown is there; `…` stands for any text. */
function isLike(given: unknown, shown: unknown): boolean {
  if (shown === '…') return typeof given === 'string' && given !== ''
  if (typeof shown !== 'object' || shown === null) return given === shown
  if (typeof given !== 'object' || given === null) return false
  if (Array.isArray(shown) && (!Array.isArray(given) || given.length !== shown.length)) return false
  return Object.entries(shown).every(([name, value]) => isLike((given as Record<string, unknown>)[name], value))
}

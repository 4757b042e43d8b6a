import type { CommandCall } from '../call.ts'
import { adviceForNode } from '../node-version.ts'
import { jsonLine, onOneLine } from '../words.ts'
import { checkDataDir, checkMasterKey, checkSandbox, checkSecrets } from './files.ts'
import { type CheckResult, type DoctorDeps, errorWords, type Finding, fail, ok, warn } from './finding.ts'
import { checkPort } from './port.ts'
import { checkPostgres } from './postgres.ts'
import { checkSqlite } from './sqlite.ts'

/** `doctor`: says what it found. Answers 1 where something is out of order; with `--strict` also where something is doubtful. */
export async function runDoctor(call: CommandCall): Promise<number> {
  const { options, stdout } = call
  const settled = await call.settle()
  const { openStore } = await call.loadEngine()
  const findings = await examine({ ...settled, openStore, nodeVersion: call.nodeVersion, now: call.clock.now })
  stdout.write(options['json'] === true ? findings.map(jsonLine).join('') : describeFindings(findings))
  const isWrong = ({ state }: Finding): boolean => state === 'fail' || (state === 'warn' && options['strict'] === true)
  return findings.some(isWrong) ? 1 : 0
}

/** Every check with its subject, in the order of the answer. A check that throws has failed. */
const CHECKS: readonly [string, (deps: DoctorDeps) => Promise<CheckResult | CheckResult[]>][] = [
  ['node', checkNode],
  ['config', checkWarnings],
  ['data folder', checkDataDir],
  ['master key', checkMasterKey],
  ['secrets', checkSecrets],
  ['database', checkDatabase],
  ['sandbox', checkSandbox],
  ['port', checkPort],
]

/** Looks at everything that a start needs and changes nothing. Never throws: what cannot be looked at is a finding. */
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [subject, check] of CHECKS) {
    const verdicts = [await check(deps).catch((error: unknown) => fail(errorWords(error)))].flat()
    findings.push(...verdicts.map((verdict) => ({ subject, ...verdict })))
  }
  return findings
}

/** One line each, with what to do below where there is something to do. */
export function describeFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ state, subject, found, advice }) => {
    const line = `${state.padEnd(5)} ${subject.padEnd(12)} ${onOneLine(found)}`
    return advice === undefined ? line : `${line}\n${' '.repeat(19)}→ ${onOneLine(advice)}`
  })
  return `${lines.join('\n')}\n`
}

async function checkNode({ nodeVersion }: DoctorDeps): Promise<CheckResult> {
  const advice = adviceForNode(nodeVersion)
  return advice === null ? ok(nodeVersion) : fail(nodeVersion, advice)
}

async function checkWarnings({ warnings }: DoctorDeps): Promise<CheckResult[]> {
  return warnings.length === 0 ? [ok('every setting is valid')] : warnings.map((warning) => warn(warning))
}

function checkDatabase(deps: DoctorDeps): Promise<CheckResult | CheckResult[]> {
  return deps.config.databaseUrl.startsWith('sqlite:') ? checkSqlite(deps) : checkPostgres(deps)
}

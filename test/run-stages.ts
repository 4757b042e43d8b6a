import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The stages of `npm test`, cheapest first. Each is an npm script that can be run alone. */
const STAGES = [
  { script: 'types', heading: 'Types (tsc)' },
  { script: 'lint', heading: 'Format and lint (biome, oxlint)' },
  { script: 'unused', heading: 'Unused files, exports and dependencies (knip)' },
  { script: 'test:unit', heading: 'Tests (node:test)' },
] as const

const startedAt = performance.now()
for (const { script, heading } of STAGES) {
  console.log(`\n── ${heading}: npm run ${script}`)
  const stageStartedAt = performance.now()
  const exitCode = await runScript(script)
  if (exitCode !== 0) {
    console.error(`\n✖ "npm run ${script}" failed after ${secondsSince(stageStartedAt)}`)
    process.exit(exitCode)
  }
  console.log(`   passed in ${secondsSince(stageStartedAt)}`)
}
console.log(`\n✔ All stages passed in ${secondsSince(startedAt)}`)

async function runScript(script: string): Promise<number> {
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`
}

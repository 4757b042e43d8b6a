import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Clock } from '../model/ports.ts'
import { type ConfigAnswer, type ConfigInput, type ConfigProblem, resolveConfig } from './config.ts'
import { CONFIG_FILE_ENV } from './options.ts'
import { readSecretSources } from './secret-sources.ts'

/**
 * Reads the config file that the flags or the environment name, if any, the files and commands that secrets come from, and
 * settles every setting.
 */
export async function loadConfig({
  clock,
  ...given
}: Omit<ConfigInput, 'file' | 'secrets'> & { clock: Clock }): Promise<ConfigAnswer> {
  const { secrets, problems } = await readSecretSources(given, clock)
  if (problems.length > 0) return { problems }
  const input = { ...given, secrets }
  const { '--config': flag } = input.flags
  const named = typeof flag === 'string' ? flag : input.env[CONFIG_FILE_ENV] || null
  if (named === null) return resolveConfig({ ...input, file: null })
  const read = await readConfigFile(resolve(input.cwd, named), typeof flag === 'string' ? '--config' : CONFIG_FILE_ENV)
  return 'problem' in read ? { problems: [read.problem] } : resolveConfig({ ...input, file: read })
}

async function readConfigFile(
  path: string,
  namedBy: string,
): Promise<{ path: string; content: Record<string, unknown> } | { problem: ConfigProblem }> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'an error'
    return { problem: { option: namedBy, expected: 'a readable YAML or JSON file', got: `${code} on ${path}` } }
  }
  // Loaded only when there is a file: most starts and every --help do without. JSON is YAML too.
  const { LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  // Pretty errors quote the line, and the line may hold a secret.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const expected = 'settings as YAML or JSON'
  const error = document.errors[0]
  if (error) {
    const { line, col } = lines.linePos(error.pos[0])
    return { problem: { option: path, expected, got: `${error.code} in line ${line}, column ${col}` } }
  }
  let content: unknown
  try {
    content = document.toJS({ maxAliasCount: 0 }) as unknown
  } catch {
    return { problem: { option: path, expected, got: 'aliases, which are not supported' } }
  }
  if (content === null) return { path, content: {} }
  if (typeof content !== 'object' || Array.isArray(content))
    return {
      problem: { option: path, expected: 'settings by name', got: Array.isArray(content) ? 'a list' : typeof content },
    }
  return { path, content: content as Record<string, unknown> }
}

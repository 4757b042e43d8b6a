/** What a preview shows in place of a secret. */
export const SECRET_COVER = '••••••'

/**
 * A copy in which the values at these dot paths are covered, whatever the case of their letters; `[]` goes through the
 * elements of a list.
 */
export function coverSecrets(payload: Record<string, unknown>, paths: readonly string[]): Record<string, unknown> {
  let covered: unknown = payload
  for (const path of paths) covered = cover(covered, path.replaceAll('[]', '.[]').split('.').filter(Boolean))
  return covered as Record<string, unknown>
}

function cover(value: unknown, steps: readonly string[]): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return SECRET_COVER
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return step === '[]' ? value.map((element) => cover(element, rest)) : value
  const names = Object.keys(value).filter((name) => name.toLowerCase() === step.toLowerCase())
  if (names.length === 0) return value
  const fields = value as Record<string, unknown>
  return { ...fields, ...Object.fromEntries(names.map((name) => [name, cover(fields[name], rest)])) }
}

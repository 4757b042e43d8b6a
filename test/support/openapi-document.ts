/** An OpenAPI document with what it refers to in place of every reference, for whoever walks through it. */
export function withoutReferences<T>(document: T): T {
  function resolved(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(resolved)
    if (typeof node !== 'object' || node === null) return node
    const { $ref } = node as { $ref?: unknown }
    if (typeof $ref === 'string') return resolved(at($ref))
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolved(value)]))
  }
  function at(reference: string): unknown {
    const [root, ...steps] = reference.split('/')
    let found: unknown = root === '#' ? document : undefined
    for (const step of steps) found = (found as Record<string, unknown> | undefined)?.[step]
    if (found === undefined) throw new Error(`The document has no ${reference}`)
    return found
  }
  return resolved(document) as T
}

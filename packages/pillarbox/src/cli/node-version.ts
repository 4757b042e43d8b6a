const OLDEST_NODE = [24, 15] as const

/** What to do about a Node that is too old for us; null: it is new enough. */
export function adviceForNode(version: string): string | null {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number)
  const isNewEnough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])
  return isNewEnough ? null : `install Node ${OLDEST_NODE.join('.')} or newer`
}

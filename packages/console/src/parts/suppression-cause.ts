const CAUSES: Record<string, string> = {
  dead_address: 'the provider says that the address is no good',
  bounced: 'a message to it came back',
  complained: 'its owner complained',
  operator: 'named by hand',
}

/** Why an address is suppressed, in words. */
export function suppressionCause(cause: string): string {
  return CAUSES[cause] ?? cause.replaceAll('_', ' ')
}

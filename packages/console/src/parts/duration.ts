/** Whether an ISO 8601 duration takes no time. */
export function isNothing(duration: string): boolean {
  return !/[1-9]/.test(duration)
}

const UNITS: Record<string, string> = { Y: 'year', W: 'week', D: 'day', H: 'hour', S: 'second' }

/** `P2D` as `2 days`. */
export function durationWords(duration: string): string {
  if (isNothing(duration)) return 'at once'
  const [date = '', time = ''] = duration.replace('P', '').split('T')
  const named = (text: string, minutes: string): string[] =>
    [...text.matchAll(/(\d+(?:\.\d+)?)([YMWDHS])/g)].map(([, count, unit]) => {
      const word = unit === 'M' ? minutes : (UNITS[unit ?? ''] ?? '')
      return `${count} ${word}${count === '1' ? '' : 's'}`
    })
  return [...named(date, 'month'), ...named(time, 'minute')].join(' ')
}

export interface Quantiles {
  p50: number
  p95: number
  p99: number
  max: number
}

export function quantiles(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (q: number): number =>
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, k) => from + k)

/** CLOCK_MONOTONIC in ms: comparable between the processes of one machine. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

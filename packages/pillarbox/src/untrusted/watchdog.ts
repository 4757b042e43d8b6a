import { parentPort, workerData } from 'node:worker_threads'

/**
 * A thread beside the work of a child process. Ends the process when one piece of work takes more processor time than it may:
 * whatever keeps the main thread, a pattern or a loop, nothing on that thread could. Asks every few milliseconds, and
 * sleeps while there is no work.
 */
const meter = workerData as Int32Array
const [PIECE, LIMIT] = [0, 1]
const LOOK_EVERY_MS = 20

parentPort?.postMessage('ready')
let piece = 0
let usedBefore = usedMs()
for (;;) {
  const current = Atomics.load(meter, PIECE)
  const limitMs = Atomics.load(meter, LIMIT)
  if (current !== piece) {
    piece = current
    usedBefore = usedMs()
  } else if (limitMs > 0 && usedMs() - usedBefore > limitMs) process.kill(process.pid, 'SIGKILL')
  if (piece === 0) Atomics.wait(meter, PIECE, 0)
  else Atomics.wait(meter, PIECE, piece, LOOK_EVERY_MS)
}

/** Processor time of the whole process: that of the collector is the work's, too. */
function usedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

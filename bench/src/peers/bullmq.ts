import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { sleep } from '../clock.ts'
import { redisAddress } from '../environment.ts'
import { type Payload, payload } from '../payload.ts'
import type { Peer } from '../peer.ts'

const QUEUE = 'bench'
const STEP = 5_000

/** BullMQ on Redis with an append-only file; completed jobs are kept, which is its default. */
export const bullmq: Peer = {
  latency: { concurrency: 4 },
  create: (store, { appendfsync = 'everysec' }) =>
    withRedis(store, async (redis) => {
      await redis.config('SET', 'appendfsync', appendfsync)
      await redis.flushdb()
    }),
  /** One real finished job is cloned by a script; the delayed ones all go through the API. */
  seed: async (store, { finished, future }) => {
    const queue = new Queue<Payload>(QUEUE, { connection: connectionOf(store) })
    await queue.add('job', payload(0))
    const worker = new Worker(QUEUE, async () => {}, { connection: connectionOf(store) })
    for (let k = 0; k < 500 && (await queue.getCompletedCount()) < 1; k++) await sleep(10)
    await worker.close()
    const [done] = await queue.getCompleted(0, 0)
    const id = done?.id ?? ''
    await withRedis(store, async (redis) => {
      for (let from = 1; from < finished; from += STEP) {
        const to = Math.min(finished - 1, from + STEP - 1)
        await redis.eval(CLONE, 2, `bull:${QUEUE}:${id}`, `bull:${QUEUE}:completed`, id, from, to, `bull:${QUEUE}:`)
      }
    })
    for (let from = 0; from < future; from += STEP)
      await queue.addBulk(
        Array.from({ length: Math.min(STEP, future - from) }, (_, k) => ({
          name: 'job',
          data: payload(from + k),
          opts: { delay: 86_400_000 + (from + k) * 1_000 },
        })),
      )
    const counts = await queue.getJobCounts('completed', 'delayed')
    await queue.close()
    return `${counts['completed']} finished + ${counts['delayed']} future`
  },
  settle: (store) =>
    withRedis(store, async (redis) => {
      for (let k = 0; k < 600; k++) {
        const info = await redis.info('persistence')
        if (/aof_rewrite_in_progress:0/.test(info) && /aof_rewrite_scheduled:0/.test(info)) return
        await sleep(200)
      }
    }),
  probe: async (store) => {
    const redis = new Redis(connectionOf(store))
    return {
      pending: async () => (await redis.llen(`bull:${QUEUE}:wait`)) + (await redis.llen(`bull:${QUEUE}:active`)) > 0,
      close: async () => {
        await redis.quit()
      },
    }
  },
  producer: async (store) => {
    const queue = new Queue<Payload>(QUEUE, { connection: connectionOf(store) })
    await queue.waitUntilReady()
    return {
      one: (each) => queue.add('job', each),
      bulk: (many) => queue.addBulk(many.map((data) => ({ name: 'job', data }))),
      close: () => queue.close(),
    }
  },
  consumer: async (store, handler, { concurrency = 100 }) => {
    const worker = new Worker<Payload>(QUEUE, (job) => handler(job.data.i), {
      connection: connectionOf(store),
      concurrency,
      autorun: false,
    })
    worker.on('error', (error) => console.error('bullmq', error))
    await worker.waitUntilReady()
    return {
      start: async () => {
        void worker.run()
      },
      stop: () => worker.close(),
    }
  },
}

const CLONE = `local h = redis.call('HGETALL', KEYS[1]); local score = redis.call('ZSCORE', KEYS[2], ARGV[1])
  for i = tonumber(ARGV[2]), tonumber(ARGV[3]) do local id = 's' .. i
  redis.call('HSET', ARGV[4] .. id, unpack(h)); redis.call('ZADD', KEYS[2], score - i, id) end return 1`

/** A grown store lives in Redis' logical database 1, any other in 0. */
function connectionOf(store: string) {
  const address = redisAddress()
  if (address === null) throw new Error('BullMQ needs Redis: put redis-server on the PATH or set REDIS_PORT')
  return { ...address, db: store.endsWith('_big') ? 1 : 0, maxRetriesPerRequest: null }
}

async function withRedis<T>(store: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(connectionOf(store))
  try {
    return await work(redis)
  } finally {
    await redis.quit()
  }
}

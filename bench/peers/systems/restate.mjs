// Restate: its own server calls handlers over HTTP/2. The parent starts the server, afresh for each measurement.
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export const restate = {
  name: 'restate',
  title: 'Restate',
  npm: '@restatedev/restate-server',
  server: 'restate',
  beside: 'perdure-postgres',
  settings: [
    {
      name: 'default',
      kind: 'recommended and fastest',
      note: 'one node, its defaults; a run is a call of a handler through the ingress',
      wait: 'result',
      long: ['parked', 'step-5000'],
    },
  ],
  lacks: { processes: 'several processes need a load balancer between them and its server' },
  guarantees: {
    flushed: 'each write; runs share one',
    steps: 'each',
    once: 'a recorded step is not done again; a body at least once',
    needs: 'its server',
  },
  open,
}

async function open({ place, ended = () => {}, onStep = () => {} }) {
  const sdk = await import('@restatedev/restate-sdk')
  let done = 0
  const finish = (input) => {
    done++
    ended(input.i)
    return { i: input.i }
  }
  const steps = async (context, input) => {
    for (let n = 0; n < input.steps; n++) {
      await context.run(`step ${n}`, async () => {
        onStep()
        return { i: input.i }
      })
    }
    return finish(input)
  }
  const sleep = async (context, input) => {
    await context.sleep(input.ms)
    return finish(input)
  }
  const handlers = { steps, sleep, job: async (_context, input) => finish(input) }
  const endpoint = sdk.endpoint().bind(sdk.service({ name: 'bench', handlers }))
  endpoint.setLogger?.(() => {})
  await endpoint.listen(Number(place.servicePort))
  await register(place)
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const call = (path, body) => post({ port: Number(place.ingressPort), path, agent }, body)
  await answered(() => call('/bench/job', { i: -1 }))
  // Runs that are not waited for are counted when their function ends: a little before that is recorded.
  const count = async () => done
  return {
    start: async (kind, input) => {
      // An hour of sleep is sent off; the answer of the others is the result.
      if (kind !== 'steps') return await call(`/bench/${kind}/send`, input)
      return { answer: call(`/bench/${kind}`, input) }
    },
    result: ({ answer }) => answer,
    count,
    close: async () => agent.destroy(),
  }
}

async function register({ adminPort, servicePort }) {
  const body = { uri: `http://127.0.0.1:${servicePort}` }
  await answered(() => post({ port: Number(adminPort), path: '/deployments' }, body))
}

async function answered(ask) {
  for (let left = 150; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (left === 0) throw error
      await delay(100)
    }
  }
}

function post(options, body) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const sent = request({ host: '127.0.0.1', method: 'POST', headers, ...options }, (response) => {
      let answer = ''
      response.on('data', (chunk) => {
        answer += chunk
      })
      response.on('end', () => {
        if (response.statusCode < 300) resolve(answer === '' ? null : JSON.parse(answer))
        else reject(new Error(answer))
      })
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

/** A network that tests can break: stands between a client and a server on this machine. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** The URL of the server, by way of the proxy. */
  url(of: string): string
  /** Ends all connections and refuses new ones. */
  drop(): void
  /** Half-open: keeps connections, accepts new ones, and forwards nothing, not even that somebody hung up. */
  stall(): void
  /** Forwards everything this much later, in ms. 0: at once. */
  delay(ms: number): void
  /** Ends the connections of this moment. */
  kill(): void
  /** Forwards at once again, also what was held back. */
  heal(): void
  close(): Promise<void>
}

type Mode = 'open' | 'dropped' | 'stalled'

/** What the lines of a proxy go by. */
interface Weather {
  mode: Mode
  delayMs: number
}

/** Starts a proxy for a port of this machine. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const proxy = new Gate(targetPort)
  await proxy.open()
  return proxy
}

class Gate implements TcpProxy {
  readonly #targetPort: number
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #weather: Weather = { mode: 'open', delayMs: 0 }
  #port = 0

  constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client))
  }

  get port(): number {
    return this.#port
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    if (address !== null && typeof address === 'object') this.#port = address.port
  }

  url(of: string): string {
    const url = new URL(of)
    url.hostname = '127.0.0.1'
    url.port = String(this.#port)
    return url.href
  }

  drop(): void {
    this.#weather.mode = 'dropped'
    this.kill()
  }

  stall(): void {
    this.#weather.mode = 'stalled'
    for (const link of this.#links) link.look()
  }

  delay(ms: number): void {
    this.#weather.delayMs = ms
  }

  kill(): void {
    for (const link of this.#links) link.destroy()
  }

  heal(): void {
    this.#weather.mode = 'open'
    this.#weather.delayMs = 0
    for (const link of this.#links) link.look()
  }

  async close(): Promise<void> {
    this.drop()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(client: Socket): void {
    if (this.#weather.mode === 'dropped') {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const link = new Link(client, this.#targetPort, this.#weather)
    this.#links.add(link)
    link.onEnd(() => this.#links.delete(link))
    link.look()
  }
}

/** A client's connection and the one to the server that belongs to it. */
class Link {
  readonly #client: Socket
  readonly #targetPort: number
  readonly #weather: Weather
  #server: Socket | null = null
  #lines: readonly Line[] = []
  #ended: () => void = () => {}

  constructor(client: Socket, targetPort: number, weather: Weather) {
    this.#client = client
    this.#targetPort = targetPort
    this.#weather = weather
    client.pause()
    this.#follow(client)
  }

  onEnd(ended: () => void): void {
    this.#ended = ended
  }

  /** Goes by the weather as it is now. */
  look(): void {
    if (this.#weather.mode === 'open') this.#catchUp()
    for (const line of this.#lines) line.look()
  }

  destroy(): void {
    this.#client.resetAndDestroy()
    this.#server?.resetAndDestroy()
    this.#ended()
  }

  /** Does what had to wait until the network was there. */
  #catchUp(): void {
    if (this.#client.errored || this.#server?.errored) this.destroy()
    else if (this.#server === null) this.#connect()
  }

  #connect(): void {
    const server = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    this.#client.setNoDelay(true)
    this.#server = server
    this.#follow(server)
    this.#lines = [
      new Line(this.#client, server, this.#weather),
      new Line(server, this.#client, this.#weather),
    ]
  }

  #follow(socket: Socket): void {
    socket.on('error', () => {
      if (this.#weather.mode !== 'stalled') this.destroy()
    })
    socket.on('close', () => {
      if (this.#client.destroyed && this.#server?.destroyed !== false) this.#ended()
    })
  }
}

/** The most that waits in one direction, in bytes, before the sender has to wait. */
const MAX_WAITING = 1_000_000

interface Parcel {
  readonly chunk: Buffer
  /** When it goes on, by the monotonic clock. */
  readonly at: number
}

/** One direction of a link. */
class Line {
  readonly #from: Socket
  readonly #to: Socket
  readonly #weather: Weather
  readonly #parcels: Parcel[] = []
  #waiting = 0
  #timer: NodeJS.Timeout | null = null
  #blocked = false
  #over = false

  constructor(from: Socket, to: Socket, weather: Weather) {
    this.#from = from
    this.#to = to
    this.#weather = weather
    from.on('data', (chunk: Buffer) => this.#take(chunk))
    from.on('end', () => {
      this.#over = true
      this.look()
    })
    to.on('drain', () => {
      this.#blocked = false
      this.look()
    })
  }

  /** Sends on what is to be sent on now. */
  look(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#weather.mode !== 'stalled') this.#send()
    if (this.#weather.mode === 'stalled' || this.#waiting > MAX_WAITING) this.#from.pause()
    else this.#from.resume()
  }

  #take(chunk: Buffer): void {
    this.#parcels.push({ chunk, at: performance.now() + this.#weather.delayMs })
    this.#waiting += chunk.length
    this.look()
  }

  #send(): void {
    while (!this.#blocked) {
      const parcel = this.#parcels[0]
      if (parcel === undefined) break
      const early = this.#weather.delayMs === 0 ? 0 : parcel.at - performance.now()
      if (early > 0) {
        this.#timer = setTimeout(() => this.look(), early)
        return
      }
      this.#parcels.shift()
      this.#waiting -= parcel.chunk.length
      if (!this.#to.destroyed) this.#blocked = !this.#to.write(parcel.chunk)
    }
    if (this.#over && this.#parcels.length === 0 && !this.#to.destroyed) this.#to.end()
  }
}

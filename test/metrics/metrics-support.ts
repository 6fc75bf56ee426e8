/** Shared by the tests of the metrics endpoint: requests of a scraper, and its address. */
import http from 'node:http'
import https from 'node:https'

export interface Scrape {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

/** The address of the metrics endpoint, taken from the log. */
export function metricsAddressIn(logs: readonly string[]): URL {
  const line = logs.find((one) => one.includes('Serving metrics at'))
  if (line === undefined) throw new Error('No metrics endpoint in the log')
  return new URL(/ at (https?:\/\/\S+?\/metrics)/.exec(line)![1]!)
}

export interface ScrapeOptions extends https.RequestOptions {
  readonly token?: string
}

/** Certificates are not verified, as with `insecureSkipVerify` of Prometheus, unless the options have a `ca`. */
export function scrape(url: URL, { token, ...options }: ScrapeOptions = {}): Promise<Scrape> {
  const { request } = url.protocol === 'https:' ? https : http
  const headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...options.headers }
  return new Promise((resolve, reject) => {
    const secure = { rejectUnauthorized: options.ca !== undefined }
    const sent = request(url, { agent: false, ...secure, ...options, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString() }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

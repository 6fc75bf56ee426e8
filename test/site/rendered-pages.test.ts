/** The built site in a real browser: on a phone and on a desktop, in light and in dark. */
import { readFileSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkAccessibility } from './accessibility.ts'
import { serveSite } from './built-site.ts'
import { findChromium } from './chromium.ts'

/** The narrowest window that WCAG 2.2 asks for (1.4.10, reflow). */
const phone = { width: 320, height: 640 }
const desk = { width: 1280, height: 800 }

/** The pages with the widest tables and the longest code, and one page of each type. */
const looks = [
  '/',
  '/guide/getting-started.html',
  '/guide/reconcile.html',
  '/guide/embedded-server.html',
  '/from-kopf/names.html',
  '/reference/handlers-and-options.html',
  '/reference/settings.html',
  '/reference/cli.html',
  '/reference/errors.html',
  '/reference/api/kopf/classes/Operator.html',
  '/examples/01-minimal.html',
  '/cookbook/',
  '/cookbook/database.html',
  '/operate/deploying.html',
  '/operate/troubleshooting.html',
  '/tutorial/cluster.html',
  '/benchmarks.html',
]

let browser: Browser
let site: Awaited<ReturnType<typeof serveSite>>

beforeAll(async () => {
  site = await serveSite()
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  browser = await chromium.launch({ executablePath: findChromium(), args })
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await site?.[Symbol.asyncDispose]()
})

interface Visit extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** Console errors and warnings, failed requests, and requests to other hosts. */
  readonly troubles: string[]
}

async function visit(viewport: typeof phone, colorScheme: 'light' | 'dark' = 'light'): Promise<Visit> {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  const troubles: string[] = []
  await context.route(
    (url) => url.origin !== site.url,
    (route) => {
      troubles.push(`a request to ${route.request().url()}`)
      return route.abort()
    },
  )
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(String(error)))
  page.on('response', (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()} for ${response.url()}`)
  })
  return { context, page, troubles, [Symbol.asyncDispose]: () => context.close() }
}

/** The number of pixels by which the page is wider than the window and needs horizontal scrolling. */
function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
}

async function linksIn(page: Page, selector: string): Promise<string[]> {
  const links = await page.locator(selector).evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).pathname))
  return [...new Set(links)]
}

/** Each page is loaded by its address. Of the API pages, which are similar, only every tenth is loaded. */
describe('pages of the sidebars', () => {
  test.each([
    ['the manual', '/guide/getting-started.html', 50, 1],
    ['the examples', '/examples/', 20, 1],
    ['the cookbook', '/cookbook/', 7, 1],
    ['the API', '/reference/api/kopf/', 150, 10],
  ])(
    'every page in the sidebar of %s loads without problems and fits a phone',
    { timeout: 240_000 },
    async (_, start, atLeast, step) => {
      await using reader = await visit(phone)
      const { page, troubles } = reader
      await page.goto(site.url + start)
      const links = await linksIn(page, '.VPSidebar a')
      expect(links.length).toBeGreaterThanOrEqual(atLeast)
      const problems: string[] = []
      for (const link of links.filter((_, index) => index % step === 0)) {
        const response = await page.goto(site.url + link)
        const overflow = await overflowOf(page)
        if (response?.status() !== 200) problems.push(`${link}: ${response?.status()}`)
        if (overflow > 0) problems.push(`${link}: wider than a phone by ${overflow} px`)
        if ((await page.locator('h1').count()) === 0) problems.push(`${link}: no heading`)
        problems.push(...troubles.splice(0).map((trouble) => `${link}: ${trouble}`))
      }
      expect(problems).toEqual([])
    },
  )
})

describe.each([
  ['a phone', 'light', phone],
  ['a phone', 'dark', phone],
  ['a desktop', 'light', desk],
  ['a desktop', 'dark', desk],
] as const)('pages on %s, in the %s colour scheme', (_, scheme, viewport) => {
  let reader: Visit

  beforeAll(async () => {
    reader = await visit(viewport, scheme)
  })

  afterAll(() => reader[Symbol.asyncDispose]())

  test.each(looks)(
    'the page %s fits the window, is accessible, and loads without problems',
    { timeout: 60_000 },
    async (path) => {
      const { page, troubles } = reader
      await page.goto(site.url + path)
      expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(scheme === 'dark')
      expect(await overflowOf(page)).toBeLessThanOrEqual(0)
      const { violations, passes } = await checkAccessibility(page)
      expect(passes).toContain('color-contrast')
      expect(violations).toEqual([])
      expect(troubles.splice(0)).toEqual([])
      const shots = process.env['KOPF_DOCS_SHOTS']
      if (shots === undefined) return
      const name = `${path.replaceAll(/\W+/g, '-')}-${viewport.width}-${scheme}.png`
      await page.screenshot({ path: `${shots}/${name}` })
    },
  )
})

test.each(['ts', 'yaml', 'shell'])('code in %s is highlighted', async (language) => {
  const path = { ts: '/guide/handlers.html', yaml: '/examples/01-minimal.html', shell: '/reference/cli.html' }[language]
  await using reader = await visit(desk)
  await reader.page.goto(site.url + path)
  const colors = await reader.page
    .locator(`div.language-${language} code span span`)
    .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).color))
  expect(new Set(colors).size).toBeGreaterThan(1)
})

test.each([
  ['a phone', phone],
  ['a desktop', desk],
])('the search on %s finds pages about finalizers and opens them', async (_, viewport) => {
  await using reader = await visit(viewport)
  const { page, troubles } = reader
  await page.goto(`${site.url}/guide/getting-started.html`)
  await page.locator('.VPNavBarSearch button').first().click()
  await page.locator('#localsearch-input').fill('finalizer')
  const results = page.locator('.VPLocalSearchBox .result')
  await results.first().waitFor()
  expect(await results.count()).toBeGreaterThan(3)
  await results.first().click()
  await page.waitForURL((url) => !url.pathname.endsWith('/getting-started.html'))
  // The address changes before the content.
  await expect.poll(() => page.locator('.vp-doc').textContent()).toMatch(/finalizer/i)
  expect(troubles).toEqual([])
})

test.each([
  ['daemon', '/guide/daemons'],
  ['leader election', '/operate/replicas'],
  ['RBAC', '/operate/'],
  ['printer columns', '/guide/custom-resources'],
  ['reconcile', '/guide/reconcile'],
])('the search for %j shows a guide before generated pages', async (words, expected) => {
  await using reader = await visit(desk)
  const { page } = reader
  await page.goto(`${site.url}/guide/getting-started.html`)
  await page.locator('.VPNavBarSearch button').first().click()
  await page.locator('#localsearch-input').fill(words)
  const results = page.locator('.VPLocalSearchBox .result')
  await results.first().waitFor()
  const found = await results.evaluateAll((all) => all.map((one) => new URL((one as HTMLAnchorElement).href).pathname))
  expect(
    found.slice(0, 3).some((path) => path.startsWith(expected)),
    found.slice(0, 5).join(' '),
  ).toBe(true)
  expect(found[0]).not.toContain('/reference/api/')
})

test('the first page shows the whole code and its output without scrolling on a desktop', async () => {
  await using reader = await visit(desk)
  const { page } = reader
  await page.goto(site.url)
  const parts = page.locator('.side-by-side pre, .side-by-side img')
  const boxes = await parts.evaluateAll((all) =>
    all.map((part) => ({
      bottom: part.getBoundingClientRect().bottom,
      hidden: Math.max(0, part.scrollWidth - part.clientWidth),
      cut: Math.max(0, part.getBoundingClientRect().right - part.parentElement!.getBoundingClientRect().right),
    })),
  )
  expect(boxes).toHaveLength(2)
  expect(boxes.filter(({ bottom, hidden, cut }) => bottom > desk.height || hidden > 0 || cut > 0.5)).toEqual([])
})

test('the first page has one visible title', async () => {
  await using reader = await visit(desk)
  await reader.page.goto(site.url)
  expect(await reader.page.locator('h1:visible').allTextContents()).toHaveLength(1)
})

test('a page has a link to edit it, and the version of the package', async () => {
  await using reader = await visit(desk)
  await reader.page.goto(`${site.url}/operate/deploying.html`)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  expect(await reader.page.locator('.edit-link-button').getAttribute('href')).toMatch(
    /\/edit\/main\/docs\/operate\/deploying\.md$/,
  )
  expect(await reader.page.locator('.VPNavBarMenu').textContent()).toContain(`v${version}`)
})

test('the menu on a phone opens the sidebar, and its links open their pages', async () => {
  await using reader = await visit(phone)
  const { page } = reader
  await page.goto(`${site.url}/guide/getting-started.html`)
  const sidebar = page.locator('.VPSidebar')
  const isAway = () => sidebar.evaluate((element) => element.getBoundingClientRect().right <= 0)
  expect(await isAway()).toBe(true)
  await page.locator('.VPLocalNav button.menu').click()
  await expect.poll(isAway).toBe(false)
  await sidebar.getByRole('link', { name: 'Filters', exact: true }).click()
  await page.waitForURL(/guide\/filters/)
  await expect.poll(() => page.locator('.vp-doc h1').textContent()).toContain('Filters')
})

test('the appearance switch turns the site dark, also for the next page', async () => {
  await using reader = await visit(desk)
  const { page } = reader
  await page.goto(site.url)
  await page.locator('.VPNavBarAppearance .VPSwitchAppearance').click()
  await page.goto(`${site.url}/guide/handlers.html`)
  expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(true)
})

test('a missing page is answered with 404 and a link to the start page', async () => {
  await using reader = await visit(desk)
  const response = await reader.page.goto(`${site.url}/guide/no-such-page.html`)
  expect(response?.status()).toBe(404)
  expect(await reader.page.locator('.NotFound a').getAttribute('href')).toBe('/')
})

test('the page for a missing address names the problem, also if the address ends with a slash', async () => {
  await using reader = await visit(desk)
  for (const path of ['/guide/no-such-page.html', '/guide/no-such-page/']) {
    await reader.page.goto(site.url + path)
    await expect
      .poll(() => reader.page.locator('.NotFound').textContent())
      .toContain('The site has no page at this address')
  }
})

test('an address with a slash at its end leads to the page without it', async () => {
  await using reader = await visit(desk)
  await reader.page.goto(`${site.url}/guide/handlers/#the-finalizer`)
  await reader.page.waitForURL(`${site.url}/guide/handlers.html#the-finalizer`)
  expect(await reader.page.locator('.vp-doc h1').textContent()).toContain('Handlers')
})

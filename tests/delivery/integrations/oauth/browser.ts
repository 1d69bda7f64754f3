const PAGES_MAX = 12;

/** As much of a browser as a provider's pages for signing in need: cookies, redirects and forms. */
export class Browser {
  readonly #cookies = new Map<string, string>();

  /** Signs in and says yes; the query that the provider sends back. */
  consent(url: string): Promise<URLSearchParams> {
    return this.#walk(url, (page) => this.#submit(page));
  }

  /** Signs in nowhere and says no. */
  deny(url: string): Promise<URLSearchParams> {
    return this.#walk(url, ({ url, text }) => {
      const [, abort] = /href="([^"]+\/abort)"/.exec(text) ?? [];
      if (abort === undefined) throw new Error(`no way to say no: ${text}`);
      return this.#fetch(new URL(abort, url).href);
    });
  }

  /** Follows redirects of the provider's own, acts on its pages, and stops where it leaves. */
  async #walk(
    start: string,
    act: (page: { url: string; text: string }) => Promise<Response>,
  ): Promise<URLSearchParams> {
    const { origin } = new URL(start);
    let url = start;
    let response = await this.#fetch(url);
    for (let page = 0; page < PAGES_MAX; page++) {
      const text = await response.text();
      const location = response.headers.get("location");
      if (location === null) response = await act({ url, text });
      else {
        url = new URL(location, url).href;
        if (new URL(url).origin !== origin) return new URL(url).searchParams;
        response = await this.#fetch(url);
      }
    }
    throw new Error(`the provider leads nowhere: ${url}`);
  }

  #submit({ url, text }: { url: string; text: string }): Promise<Response> {
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(text) ?? [];
    if (action === undefined) throw new Error(`there is no form: ${text}`);
    const hidden = [...text.matchAll(/<input type="hidden" name="(\w+)" value="(\w+)"/g)];
    const form = new URLSearchParams(hidden.map(([, name, value]) => [name!, value!]));
    if (text.includes('name="login"')) form.set("login", "alice");
    if (text.includes('name="password"')) form.set("password", "any");
    return this.#fetch(new URL(action, url).href, form);
  }

  async #fetch(url: string, body?: URLSearchParams): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie },
      ...(body && { method: "POST", body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === "") this.#cookies.delete(name!);
      else this.#cookies.set(name!, value!);
    }
    return response;
  }
}

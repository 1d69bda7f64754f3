import { checkScreen, CHROMIUM, ConsoleTest, VIEWS } from "./harness.ts";

Deno.test({
  name: "guides: lists, pages and the search fit every screen, and can be read without a session",
  ignore: CHROMIUM === null,
}, async () => {
  await using here = await ConsoleTest.start();
  for (const { width, colorScheme } of VIEWS) {
    const person = await here.person({ viewport: { width, height: 844 }, colorScheme });
    const page = await person.page();
    await page.goto(`${here.url}/guides`);
    await checkScreen(person, page, `guides ${width} ${colorScheme}`);
    await page.locator("main").getByRole("link", { name: "Getting started" }).click();
    await page.getByRole("heading", { name: "5. Let a second person approve" }).waitFor();
    await checkScreen(person, page, `guide ${width} ${colorScheme}`);
    await page.getByRole("searchbox").fill("rotate secret");
    await page.getByRole("searchbox").press("Enter");
    await page.getByRole("heading", { name: "Search" }).waitFor();
    await checkScreen(person, page, `search ${width} ${colorScheme}`);
    await page.goto(`${here.url}/guides/configuration`);
    await checkScreen(person, page, `tables ${width} ${colorScheme}`);
    await person.context.close();
  }
});

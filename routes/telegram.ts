export const telegramRoutes = [];

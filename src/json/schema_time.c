/* schema_time.c - dates, times (RFC 3339) and durations (its appendix A) */
#include <string.h>

#include "json/schema_format.h"

struct text {
    const char *at, *end;
};

/* Exactly so many digits; -1: they are not there. */
static int
digits_take(struct text *text, int count)
{
    int number = 0;

    if (text->end - text->at < count)
        return -1;
    for (int i = 0; i < count; i++, text->at++) {
        if (*text->at < '0' || *text->at > '9')
            return -1;
        number = number * 10 + (*text->at - '0');
    }
    return number;
}

static bool
char_take(struct text *text, const char *any_of)
{
    if (text->at == text->end || *text->at == '\0' || !strchr(any_of, *text->at))
        return false;
    text->at++;
    return true;
}

static int
days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

static bool
date_take(struct text *text)
{
    int year = digits_take(text, 4);
    bool dash = char_take(text, "-");
    int month = digits_take(text, 2);
    bool other_dash = char_take(text, "-");
    int day = digits_take(text, 2);

    return year >= 0 && dash && other_dash && month >= 1 && month <= 12 && day >= 1 &&
           day <= days_of(year, month);
}

/* Minutes to take off for UTC; false: no offset. */
static bool
offset_take(struct text *text, int *ret_minutes)
{
    int sign = text->at < text->end && *text->at == '-' ? -1 : 1;
    int hours, minutes;
    bool colon;

    *ret_minutes = 0;
    if (char_take(text, "Zz"))
        return true;
    if (!char_take(text, "+-"))
        return false;
    hours = digits_take(text, 2);
    colon = char_take(text, ":");
    minutes = digits_take(text, 2);
    *ret_minutes = sign * (hours * 60 + minutes);
    return colon && hours >= 0 && hours <= 23 && minutes >= 0 && minutes <= 59;
}

static bool
fraction_take(struct text *text)
{
    if (!char_take(text, "."))
        return true;
    if (digits_take(text, 1) < 0)
        return false;
    while (char_take(text, "0123456789"))
        continue;
    return true;
}

/* A leap second is the last one of a day in UTC. */
static bool
time_take(struct text *text)
{
    int hour = digits_take(text, 2);
    bool colon = char_take(text, ":");
    int minute = digits_take(text, 2);
    bool other_colon = char_take(text, ":");
    int second = digits_take(text, 2);
    int offset, utc;

    if (!colon || !other_colon || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 60 || !fraction_take(text) ||
        !offset_take(text, &offset))
        return false;
    utc = (hour * 60 + minute - offset + 2 * 24 * 60) % (24 * 60);
    return second < 60 || utc == 23 * 60 + 59;
}

bool
mcpi_time_is_date(const char *text, size_t len)
{
    struct text t = {text, text + len};

    return date_take(&t) && t.at == t.end;
}

bool
mcpi_time_is_time(const char *text, size_t len)
{
    struct text t = {text, text + len};

    return time_take(&t) && t.at == t.end;
}

bool
mcpi_time_is_date_time(const char *text, size_t len)
{
    struct text t = {text, text + len};

    return date_take(&t) && char_take(&t, "Tt") && time_take(&t) && t.at == t.end;
}

/* Numbers, each with the next of some units; how many there were, -1: something else. */
static int
units_take(struct text *text, const char *units)
{
    int count = 0;

    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        const char *unit;

        while (char_take(text, "0123456789"))
            continue;
        unit = text->at < text->end && *text->at ? strchr(units, *text->at) : NULL;
        /* no unit is left out between two that are there */
        if (!unit || (count > 0 && unit != units))
            return -1;
        text->at++;
        units = unit + 1;
        count++;
    }
    return count;
}

bool
mcpi_time_is_duration(const char *text, size_t len)
{
    struct text t = {text, text + len};
    int days, hours = 0;

    if (!char_take(&t, "P"))
        return false;
    days = units_take(&t, "YMD");
    if (days == 0 && t.at == t.end)
        return false;
    if (days < 0) {
        t = (struct text){text + 1, text + len};
        return units_take(&t, "W") == 1 && t.at == t.end;
    }
    if (char_take(&t, "T")) {
        hours = units_take(&t, "HMS");
        if (hours < 1)
            return false;
    }
    return days + hours > 0 && t.at == t.end;
}

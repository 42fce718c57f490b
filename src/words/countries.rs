//! Names of the countries and regions that the shop delivers to.

use domain::Locale;

#[rustfmt::skip]
static NAMES: &[(&str, &str, &str)] = &[
    ("CN", "中国大陆", "Mainland China"), ("HK", "中国香港", "Hong Kong SAR, China"), ("MO", "中国澳门", "Macao SAR, China"),
    ("TW", "中国台湾", "Taiwan, China"), ("SG", "新加坡", "Singapore"), ("MY", "马来西亚", "Malaysia"), ("JP", "日本", "Japan"),
    ("KR", "韩国", "South Korea"), ("TH", "泰国", "Thailand"), ("VN", "越南", "Vietnam"), ("PH", "菲律宾", "Philippines"),
    ("ID", "印度尼西亚", "Indonesia"), ("IN", "印度", "India"), ("AE", "阿联酋", "United Arab Emirates"),
    ("SA", "沙特阿拉伯", "Saudi Arabia"), ("IL", "以色列", "Israel"), ("TR", "土耳其", "Türkiye"), ("AU", "澳大利亚", "Australia"),
    ("NZ", "新西兰", "New Zealand"), ("US", "美国", "United States"), ("CA", "加拿大", "Canada"), ("MX", "墨西哥", "Mexico"),
    ("BR", "巴西", "Brazil"), ("AR", "阿根廷", "Argentina"), ("CL", "智利", "Chile"), ("GB", "英国", "United Kingdom"),
    ("IE", "爱尔兰", "Ireland"), ("DE", "德国", "Germany"), ("AT", "奥地利", "Austria"), ("CH", "瑞士", "Switzerland"),
    ("FR", "法国", "France"), ("BE", "比利时", "Belgium"), ("NL", "荷兰", "Netherlands"), ("LU", "卢森堡", "Luxembourg"),
    ("ES", "西班牙", "Spain"), ("PT", "葡萄牙", "Portugal"), ("IT", "意大利", "Italy"), ("GR", "希腊", "Greece"),
    ("PL", "波兰", "Poland"), ("CZ", "捷克", "Czechia"), ("HU", "匈牙利", "Hungary"), ("RO", "罗马尼亚", "Romania"),
    ("SE", "瑞典", "Sweden"), ("NO", "挪威", "Norway"), ("DK", "丹麦", "Denmark"), ("FI", "芬兰", "Finland"),
    ("ZA", "南非", "South Africa"), ("EG", "埃及", "Egypt"), ("NG", "尼日利亚", "Nigeria"), ("KE", "肯尼亚", "Kenya"),
];

/// The name of a country or region, or its code if it has no name here.
pub fn country(locale: Locale, code: &str) -> &str {
    super::text_of(NAMES, locale, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::address::COUNTRIES;

    #[test]
    fn every_country_has_a_name_in_both_languages() {
        assert_eq!(COUNTRIES.len(), NAMES.len());
        for code in COUNTRIES {
            assert!(country(Locale::Zh, code) != *code && country(Locale::En, code) != *code, "{code}");
        }
        assert_eq!(country(Locale::En, "XX"), "XX");
    }
}
